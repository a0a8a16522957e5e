import type { Call, Client, Reply } from '../contract/call.ts';
import type { AuditedChange } from './audit/audit.ts';
import type { Dispatch } from './dispatch.ts';
import type { World } from './handler.ts';
import type { NewToken } from './insert-ports.ts';
import { Problem } from './problem.ts';
import { beginSlice, hasTimeLeft } from './slices.ts';
import { isPromise } from './steps.ts';
import { snapshotReads, type Tick } from './tick.ts';
import { nextTick, setImmediate } from './timers.ts';

/** The range of the limit of inserted tokens in a tick. One audit row names all tokens of a tick. */
const [MIN_INSERTS, MAX_INSERTS] = [16, 256];

interface Waiting {
  readonly call: Call;
  readonly answered: (reply: Reply) => void;
}

/** Returns the calls with those of different accounts alternating, so that one account's calls do not delay another's. */
function alternate(calls: readonly Waiting[], accountOf: Dispatch['accountOf']): readonly Waiting[] {
  if (calls.length === 1) return calls;
  const queues = Map.groupBy(calls, ({ call }) => accountOf(call.apiKey));
  if (queues.size === 1) return calls;
  const alternating: Waiting[] = [];
  for (let round = 0; queues.size > 0; round++) {
    for (const [account, queue] of queues) {
      const one = queue[round];
      if (one === undefined) queues.delete(account);
      else alternating.push(one);
    }
  }
  return alternating;
}

const isCreate = ({ call }: Waiting): boolean => call.operation === 'createToken';

/**
 * Creates a function that collects the calls of one tick of the event loop and answers them together at its end, with one
 * look at the audit, one snapshot and one write. A call sees every change that was committed before the call arrived. A
 * call that must wait leaves the tick at its first promise.
 *
 * Several creates go first, so that the writer thread writes them while this thread answers the other calls. Of many
 * creates, a tick leaves half to the next tick: the writer thread then writes the first half while this thread prepares
 * the second. A tick also leaves the calls to the next one for which it has no time left.
 */
export function createTicks(
  { answer, accountOf }: Dispatch,
  { store, audit, clock, follower, ticks }: World,
): NonNullable<Client['take']> {
  let waiting: Waiting[] = [];

  function endTick(): void {
    const calls = waiting;
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

  function answerAll(calls: readonly Waiting[]): void {
    const { tokens, insert, write } = jointInsert();
    const most = Math.min(Math.max(MIN_INSERTS, calls.length / 2), MAX_INSERTS);
    const replies = new Map<Waiting, Reply | Promise<Reply>>();
    const wasRead = store.readNow?.((reads) => {
      if (!follower.followNow(reads)) return false;
      beginSlice();
      ticks.now = { reads: snapshotReads(reads, store), known: new Map(), insert };
      try {
        for (const one of alternate(calls, accountOf)) {
          if (tokens.length >= most || !hasTimeLeft()) break;
          replies.set(one, answer(one.call));
        }
      } finally {
        ticks.now = undefined;
      }
      return true;
    });
    write();
    // Send replies after the snapshot ends: a slow client must not keep it open.
    for (const [one, reply] of replies) send(reply, one);
    for (const one of calls) {
      if (replies.has(one)) continue;
      if (wasRead) wait(one);
      else send(answer(one.call), one);
    }
  }

  /** Returns `insert` of a tick, and `write`, which writes the tokens together. */
  function jointInsert() {
    const tokens: NewToken[] = [];
    const changes: AuditedChange[] = [];
    const { promise: written, resolve } = Promise.withResolvers<boolean>();
    const insert: Tick['insert'] = (token, change) => {
      tokens.push(token);
      changes.push(change);
      return written;
    };
    const write = () => {
      if (tokens.length > 0) resolve(insertAll(tokens, changes));
    };
    return { tokens, insert, write };
  }

  async function insertAll(tokens: readonly NewToken[], changes: readonly AuditedChange[]): Promise<boolean> {
    try {
      const obstacles = await store.insertTokens(tokens, clock.cutoff(), audit.draftAll(changes));
      return obstacles.length === 0;
    } catch (error) {
      // One call's deleted tenant or old keys must not fail the other calls.
      if (error instanceof Problem && (error.code === 'unauthenticated' || error.code === 'write_conflict'))
        return false;
      throw error;
    }
  }

  function wait(one: Waiting): void {
    if (waiting.length === 0) setImmediate(endTick);
    waiting.push(one);
  }

  return (call, answered) => wait({ call, answered });
}

function send(reply: Reply | Promise<Reply>, { answered }: Waiting): void {
  if (isPromise(reply)) void reply.then(answered);
  else answered(reply);
}
