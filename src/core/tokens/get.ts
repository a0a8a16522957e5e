import { MAX_DATA } from '../../contract/limits.ts';
import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import { settled } from '../steps.ts';
import { readsOf } from '../ticks.ts';
import { readHeld } from '../work.ts';
import { presentToken, sealedBytes } from './present-token.ts';

/** Get a Token (§4.1). */
export const getToken: Handler<'getToken'> = function* ({ params: { id }, query }, caller, context) {
  const { tenant, grants, recorder, work } = caller;
  const slice = work.next();
  if (slice !== undefined) yield slice;
  const read = () => settled(readsOf(context).findPresentedToken(tenant.record.id, id, context.clock.cutoff()));
  const record = yield* readHeld(work, 2 * MAX_DATA, read, (found) => (found === undefined ? 0 : sealedBytes(found)));
  if (!record) throw new Problem('token_not_found');
  const presented = presentToken(tenant.keyring, grants, id, record, query.transform);
  if (!presented) throw new Problem('no_governing_rule');
  recorder.shown([id], presented.transform === 'reveal');
  context.activity.note([record]);
  return presented.text;
};
