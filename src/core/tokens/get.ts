import type { Transform } from '../../contract/permissions.ts';
import type { Caller, Handler, HandlerNow, World } from '../handler.ts';
import type { JsonText } from '../json/stringify.ts';
import { nextTurn } from '../own-turn.ts';
import type { PresentedToken } from '../ports.ts';
import { Problem } from '../problem.ts';
import { presentToken } from './present-token.ts';

/** Get a Token (§4.1). */
export const getToken: Handler<'getToken'> = async ({ params: { id }, query }, caller, world) => {
  const record = await world.store.findPresentedToken(caller.tenant.record.id, id, world.clock.cutoff());
  const turn = nextTurn(caller.application.record.id);
  if (turn !== undefined) await turn;
  const shown = show(id, record, query.transform, caller, world);
  if (shown instanceof Problem) throw shown;
  return shown;
};

export const getTokenNow: HandlerNow<'getToken'> = ({ params: { id }, query }, caller, world, { reads, cutoff }) =>
  show(id, reads.findPresentedToken(caller.tenant.record.id, id, cutoff), query.transform, caller, world);

function show(
  id: string,
  record: PresentedToken | undefined,
  most: Transform | undefined,
  { tenant, grants, trail }: Caller,
  world: World,
): JsonText | Problem {
  if (!record) return new Problem('token_not_found');
  const presented = presentToken(tenant.keyring, grants, id, record, most);
  if (!presented) return new Problem('no_governing_rule');
  trail.shown([id], presented.transform === 'reveal');
  world.activity.note([record]);
  return presented.text;
}
