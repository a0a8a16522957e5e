import type { CreateToken, TokenPreview } from '../../contract/token.ts';
import type { Handler } from '../handler.ts';
import { loadFiltersOf, prepareToken } from './create.ts';

/**
 * Returns the reply that Create Token would return, and the texts that would find the token. Reads and stores no token,
 * so a preview reports neither a taken id nor a duplicate: both would reveal tokens that the caller cannot read.
 */
export const previewToken: Handler<'previewToken'> = async ({ body }, caller, context) => {
  await loadFiltersOf(body);
  const slice = caller.work.next();
  if (slice !== undefined) await slice;
  const { seal, ids, foundBy } = prepareToken(body, caller, context);
  const { fingerprint, ...reply } = seal(ids.next().value).reply;
  return { ...reply, id_is: kindOf(body), ...foundBy };
};

function kindOf({ id }: CreateToken): TokenPreview['id_is'] {
  if (id === undefined) return 'assigned';
  return id.includes('{{') ? 'sample' : 'given';
}
