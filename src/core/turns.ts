import type { Call, Client, Reply } from '../contract/call.ts';
import { OPERATIONS, type Operation, type OperationId, takesIdempotencyKey } from '../contract/operations.ts';
import type { AuditedChange } from './audit/audit.ts';
import { BODY_VALIDATORS } from './body-validators.generated.js';
import type { Dispatch } from './dispatch.ts';
import { type HandlerNow, type Turn, type World, Written } from './handler.ts';
import type { NewToken } from './insert-ports.ts';
import { TURN_MS } from './own-turn.ts';
import { Problem } from './problem.ts';
import { runningTime } from './running-time.ts';
import { nextTick, setImmediate } from './timers.ts';
import { createTokenNow } from './tokens/create.ts';
import { getTokenNow } from './tokens/get.ts';
import { listTokensNow } from './tokens/list.ts';

/** The maximum number of sealed bytes that the lists of one turn may read. */
const MAX_LISTED = 512 * 1024;

/** The range of the limit of inserted tokens in a turn. One audit row names all tokens of a turn. */
const [MIN_INSERTS, MAX_INSERTS] = [16, 256];

/** The operations that a turn answers. */
const HANDLERS_NOW: { readonly [Id in OperationId]?: HandlerNow<Id> } = {
  createToken: createTokenNow,
  getToken: getTokenNow,
  listTokens: listTokensNow,
};

interface Waiting {
  readonly call: Call;
  readonly handler: HandlerNow<OperationId>;
  readonly answered: (reply: Reply) => void;
  /** True for a call that already waited for one turn. */
  readonly isSecond?: boolean;
}

/**
 * Returns the calls with those of different API keys alternating, so that one caller's calls do not delay another's.
 */
function alternate(calls: Waiting[]): Waiting[] {
  const lines = Map.groupBy(calls, ({ call }) => call.apiKey);
  if (lines.size === 1) return calls;
  const alternating: Waiting[] = [];
  for (let round = 0; lines.size > 0; round++) {
    for (const [key, line] of lines) {
      const one = line[round];
      if (one === undefined) lines.delete(key);
      else alternating.push(one);
    }
  }
  return alternating;
}

const isCreate = ({ call }: Waiting): boolean => call.operation === 'createToken';

/**
 * Creates a function that collects the calls of one turn of the event loop and answers them together at its end, with
 * one look at the audit, one snapshot and one write. A call sees every change that was committed before the call arrived.
 * `dispatch` answers the calls that must wait.
 *
 * Several creates go first, so that the writer thread writes them while this thread answers the other calls. Of many
 * creates, a turn leaves half to the next turn: the writer thread then writes the first half while this thread prepares
 * the second. A turn also leaves the calls to the next turn that it has not begun after TURN_MS.
 */
export function createTurns(
  { dispatch, answerNow, loadCaller }: Dispatch,
  { store, audit, clock, follower }: Pick<World, 'store' | 'audit' | 'clock' | 'follower'>,
): NonNullable<Client['take']> {
  let waiting: Waiting[] = [];

  function endTurn(): void {
    const calls = alternate(waiting);
    waiting = [];
    const creates = calls.filter(isCreate);
    // This thread itself may write a single token, so the other calls must not wait for it.
    if (creates.length < 2) answerAll(calls);
    else {
      answerAll(creates);
      const others = calls.filter((one) => !isCreate(one));
      if (others.length > 0) nextTick(() => answerAll(others));
    }
  }

  function answerAll(calls: Waiting[]): void {
    const known: Turn['known'] = new Map();
    const tokens: NewToken[] = [];
    const changes: AuditedChange[] = [];
    const { promise: written, resolve } = Promise.withResolvers<void>();
    function insert<T>(token: NewToken, change: AuditedChange, shown: T): Written<T> {
      tokens.push(token);
      changes.push(change);
      return new Written(shown, written);
    }
    const most = Math.min(Math.max(MIN_INSERTS, calls.length / 2), MAX_INSERTS);
    const replies = store.readNow?.((reads) => {
      if (!follower.followNow(reads)) return undefined;
      const turn: Turn = { reads, cutoff: clock.cutoff(), bodies: BODY_VALIDATORS, known, room: MAX_LISTED, insert };
      const answers: ReturnType<typeof answerNow>[] = [];
      const began = runningTime();
      for (const { call, handler } of calls) {
        if (tokens.length >= most || runningTime() - began >= TURN_MS) break;
        answers.push(answerNow(call, handler, turn));
      }
      return answers;
    });
    // Without replies `dispatch` repeats each call, so write nothing here.
    if (replies !== undefined && tokens.length > 0) resolve(insertAll(tokens, changes));
    for (const one of calls.splice(replies?.length ?? calls.length)) wait(one);
    // Send replies after the snapshot ends: a slow client must not keep it open.
    for (const [index, one] of calls.entries()) {
      const { call, answered, isSecond } = one;
      const isUnknown = known.has(call.apiKey) && known.get(call.apiKey) === undefined;
      if (isUnknown && !isSecond) {
        void loadCaller(call).then((refused) => (refused ? answered(refused) : wait({ ...one, isSecond: true })));
        continue;
      }
      const reply = replies?.[index] ?? dispatch(call);
      if ('then' in reply) void reply.then(answered);
      else answered(reply);
    }
  }

  async function insertAll(tokens: readonly NewToken[], changes: readonly AuditedChange[]): Promise<void> {
    try {
      const obstacles = await store.insertTokens(tokens, clock.cutoff(), audit.draftAll(changes));
      if (obstacles.length === 0) return;
    } catch (error) {
      // One call's deleted tenant must not fail the other calls, so throw `write_conflict`: each call is then repeated
      // alone.
      if (!(error instanceof Problem) || error.code !== 'unauthenticated') throw error;
    }
    throw new Problem('write_conflict');
  }

  function wait(one: Waiting): void {
    if (waiting.length === 0) setImmediate(endTurn);
    waiting.push(one);
  }

  return (call, answered) => {
    const handler = HANDLERS_NOW[call.operation] as HandlerNow<OperationId> | undefined;
    const row: Operation = OPERATIONS[call.operation];
    const isKeyed = call.idempotencyKey !== undefined && takesIdempotencyKey(row);
    if (handler === undefined || isKeyed || (call.readBody !== undefined && row.body === undefined)) {
      void dispatch(call).then(answered);
      return;
    }
    wait({ call, handler, answered });
  };
}
