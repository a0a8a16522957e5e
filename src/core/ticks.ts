import type { Call, Client, Reply } from '../contract/call.ts';
import type { AuditEvent } from './audit/audit-event.ts';
import type { Dispatch } from './dispatch.ts';
import type { Context, Identity } from './handler.ts';
import type { NewToken } from './insert-ports.ts';
import { Problem } from './problem.ts';
import type { SnapshotReads } from './scan-ports.ts';
import { afterArrivals, beginSlice, hasTimeLeft } from './slices.ts';
import { isPromise } from './steps.ts';
import { nextTick } from './timers.ts';

/** A tick of the event loop in which several calls are answered from one snapshot. */
export interface Tick {
  /** The reads of the snapshot. */
  readonly reads: SnapshotReads;
  /** The cached identities that were found in this tick, by API key. */
  readonly known: Map<string, Identity>;
  /**
   * Inserts a token together with the others of the tick. Resolves to false when none of them was inserted and each must
   * be inserted alone.
   */
  insert(token: NewToken, change: AuditEvent): Promise<boolean>;
}

/** Holds the tick whose calls run now. A call leaves its tick at its first promise. */
export interface TickHolder {
  now: Tick | undefined;
}

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
    const [tokens, changes]: [NewToken[], AuditEvent[]] = [[], []];
    const { promise: written, resolve } = Promise.withResolvers<boolean>();
    const replies: (Reply | Promise<Reply>)[] = [];
    let ordered = calls;
    beginSlice();
    const wasRead = store.readNow?.((reads) => {
      if (!follower.followNow(reads)) return false;
      ticks.now = {
        reads,
        known: new Map(),
        insert(token, change) {
          tokens.push(token);
          changes.push(change);
          return written;
        },
      };
      try {
        ordered = alternate(calls, accountOf);
        for (const { call } of ordered) {
          if (tokens.length >= most || !hasTimeLeft()) break;
          replies.push(answer(call));
        }
      } finally {
        ticks.now = undefined;
      }
      return true;
    });
    if (tokens.length > 0) resolve(insertAll(tokens, changes));
    // Send replies after the snapshot ends: a slow client must not keep it open.
    for (const [index, one] of ordered.entries()) {
      if (wasRead && index >= replies.length) {
        wait(one);
        continue;
      }
      const reply = replies[index] ?? answer(one.call);
      if (isPromise(reply)) void reply.then(one.answered);
      else one.answered(reply);
    }
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
