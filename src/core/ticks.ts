import type { Call, Client, Reply } from '../contract/call.ts';
import type { AuditEvent } from './audit/audit-event.ts';
import type { Dispatch } from './dispatch.ts';
import type { Context } from './handler.ts';
import type { NewToken } from './insert-ports.ts';
import { Problem } from './problem.ts';
import { afterArrivals, beginSlice, hasTimeLeft } from './slices.ts';
import { isPromise } from './steps.ts';
import { snapshotReads, type Tick } from './tick.ts';
import { nextTick } from './timers.ts';

/** The range of the limit of inserted tokens in a tick. One audit row names all tokens of a tick. */
const [MIN_INSERTS, MAX_INSERTS] = [16, 256];

interface Waiting {
  readonly call: Call;
  readonly answered: (reply: Reply) => void;
}

/** Returns the calls in round robin by account, so that one account's calls do not delay another's. */
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
 * Creates a function that collects the calls of one tick of the event loop and answers them together at its end: it
 * follows the audit once, opens one snapshot and makes one write. A call sees every change that was committed before the
 * call arrived. A call that must wait leaves the tick at its first promise.
 *
 * Several creates go first, so that the writer thread writes them while this thread answers the other calls. When there
 * are many, a tick answers half of them: the writer thread writes these while this thread prepares the others. A tick
 * that has no time left leaves its other calls to the next tick.
 */
export function createTicks(
  { answer, accountOf }: Dispatch,
  { store, audit, clock, follower, ticks }: Context,
): NonNullable<Client['take']> {
  let waiting: Waiting[] = [];

  function endTick(): void {
    const calls = waiting;
    waiting = [];
    const creates = calls.filter(isCreate);
    // This thread may write a single token itself, so the other calls must not wait for it.
    if (creates.length < 2) answerAll(calls);
    else {
      answerAll(creates);
      const others = calls.filter((one) => !isCreate(one));
      if (others.length > 0) nextTick(() => answerAll(others));
    }
  }

  function answerAll(calls: readonly Waiting[]): void {
    const most = Math.min(Math.max(MIN_INSERTS, calls.length / 2), MAX_INSERTS);
    const joint = createJointInsert();
    const replies: (Reply | Promise<Reply>)[] = [];
    let ordered = calls;
    beginSlice();
    const wasRead = store.readNow?.((reads) => {
      if (!follower.followNow(reads)) return false;
      ticks.now = { reads: snapshotReads(reads, store), known: new Map(), insert: joint.insert };
      try {
        ordered = alternate(calls, accountOf);
        for (const { call } of ordered) {
          if (joint.size() >= most || !hasTimeLeft()) break;
          replies.push(answer(call));
        }
      } finally {
        ticks.now = undefined;
      }
      return true;
    });
    joint.write();
    // Send replies after the snapshot ends: a slow client must not keep it open.
    for (const [index, one] of ordered.entries()) {
      if (wasRead && index >= replies.length) wait(one);
      else send(replies[index] ?? answer(one.call), one);
    }
  }

  /** Collects the tokens of a tick, and writes them together. */
  function createJointInsert() {
    let joint: { readonly tokens: NewToken[]; readonly changes: AuditEvent[] } | undefined;
    const { promise: written, resolve } = Promise.withResolvers<boolean>();
    const insert: Tick['insert'] = (token, change) => {
      joint ??= { tokens: [], changes: [] };
      joint.tokens.push(token);
      joint.changes.push(change);
      return written;
    };
    return {
      insert,
      size: () => joint?.tokens.length ?? 0,
      write: () => {
        if (joint !== undefined) resolve(insertAll(joint.tokens, joint.changes));
      },
    };
  }

  async function insertAll(tokens: readonly NewToken[], changes: readonly AuditEvent[]): Promise<boolean> {
    try {
      const obstacles = await store.insertTokens(tokens, clock.cutoff(), audit.draft(...changes));
      return obstacles.length === 0;
    } catch (error) {
      // One call's deleted tenant or old keys must not fail the other calls.
      if (error instanceof Problem && (error.code === 'unauthenticated' || error.code === 'write_conflict'))
        return false;
      throw error;
    }
  }

  function wait(one: Waiting): void {
    if (waiting.length === 0) afterArrivals(endTick);
    waiting.push(one);
  }

  return (call, answered) => wait({ call, answered });
}

function send(reply: Reply | Promise<Reply>, { answered }: Waiting): void {
  if (isPromise(reply)) void reply.then(answered);
  else answered(reply);
}
