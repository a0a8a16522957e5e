import { governingTransform } from '../access/governing-transform.ts';
import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import { shownData, tokenText } from './present-token.ts';
import { openPresentedDetails } from './token-codec.ts';

/** Get a Token (§4.1). */
export const getToken: Handler<'getToken'> = async ({ params: { id } }, { tenant, grants, trail }, world) => {
  const now = world.clock.now();
  const record = await world.store.findPresentedToken(tenant.record.id, id, now);
  if (!record) throw new Problem('token_not_found');
  const details = openPresentedDetails(tenant.keyring, id, record);
  const transform = governingTransform(grants, 'token:read', { id, containers: details.containers });
  if (!transform) throw new Problem('no_governing_rule');
  const shown = tokenText(record, details, shownData(tenant.keyring, id, record, transform));
  trail.shown([id], transform === 'reveal');
  world.activity.note([record], now);
  return shown;
};
