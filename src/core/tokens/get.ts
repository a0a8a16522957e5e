import { MAX_DATA } from '../../contract/limits.ts';
import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import { settled } from '../steps.ts';
import { presentToken, sealedBytes } from './present-token.ts';

/** Get a Token (§4.1). */
export const getToken: Handler<'getToken'> = function* ({ params: { id }, query }, caller, context) {
  const { tenant, grants, recorder, work } = caller;
  const slice = work.next();
  if (slice !== undefined) yield slice;
  const { ticks, store, clock } = context;
  const read = () => settled((ticks.now?.reads ?? store).findPresentedToken(tenant.record.id, id, clock.cutoff()));
  const record = yield* work.readHeld(2 * MAX_DATA, read, sealedBytes);
  if (!record) throw new Problem('token_not_found');
  const presented = presentToken(tenant.keyring, grants, id, record, query.transform);
  if (!presented) throw new Problem('no_governing_rule');
  recorder.shown([id], presented.transform === 'reveal');
  context.activity.note([record]);
  return presented.text;
};
