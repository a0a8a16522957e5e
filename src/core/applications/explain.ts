import { TOKEN_PERMISSIONS } from '../../contract/explanation.ts';
import { explainAccess } from '../access/explain-access.ts';
import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import { openPresented } from '../tokens/token-codec.ts';
import { askedGrants } from './asked-grants.ts';

/**
 * Explains the permissions that an application has on a token, and why (design of the console, §7). Returns none of the
 * token's data.
 */
export const explainApplicationAccess: Handler<'explainAccess'> = async ({ body }, caller, context) => {
  const { token_id: id } = body;
  const grants = await askedGrants(body, caller, context);
  const record = await context.store.findPresentedToken(caller.tenant.record.id, id, context.clock.cutoff());
  if (record === undefined) throw new Problem('token_not_found');
  const { containers } = openPresented(caller.tenant.keyring, id, record).details;
  const token = { id, containers };
  const permissions = TOKEN_PERMISSIONS.map((permission) => explainAccess(grants, permission, token));
  return { token_id: id, containers, permissions };
};
