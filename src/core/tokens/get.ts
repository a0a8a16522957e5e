import type { Caller, Handler, HandlerNow, World } from '../handler.ts';
import type { JsonText } from '../json/stringify.ts';
import type { Instant, PresentedToken } from '../ports.ts';
import { Problem } from '../problem.ts';
import { presentToken } from './present-token.ts';

/** Get a Token (§4.1). */
export const getToken: Handler<'getToken'> = async ({ params: { id } }, caller, world) => {
  const now = world.clock.now();
  const shown = show(id, await world.store.findPresentedToken(caller.tenant.record.id, id, now), caller, world, now);
  if (shown instanceof Problem) throw shown;
  return shown;
};

export const getTokenNow: HandlerNow<'getToken'> = ({ params: { id } }, caller, world, { reads }) => {
  const now = world.clock.now();
  return show(id, reads.findPresentedToken(caller.tenant.record.id, id, now), caller, world, now);
};

function show(
  id: string,
  record: PresentedToken | undefined,
  { tenant, grants, trail }: Caller,
  world: World,
  now: Instant,
): JsonText | Problem {
  if (!record) return new Problem('token_not_found');
  const presented = presentToken(tenant.keyring, grants, id, record);
  if (!presented) return new Problem('no_governing_rule');
  trail.shown([id], presented.transform === 'reveal');
  world.activity.note([record], now);
  return presented.text;
}
