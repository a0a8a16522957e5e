import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import { presentToken } from './present-token.ts';

/** Get a Token (§4.1). */
export const getToken: Handler<'getToken'> = async ({ params: { id } }, { tenant, grants, trail }, world) => {
  const now = world.clock.now();
  const record = await world.store.findPresentedToken(tenant.record.id, id, now);
  if (!record) throw new Problem('token_not_found');
  const presented = presentToken(tenant.keyring, grants, id, record);
  if (!presented) throw new Problem('no_governing_rule');
  trail.shown([id], presented.transform === 'reveal');
  world.activity.note([record], now);
  return presented.text;
};
