import { Problem } from '../../core/problem.ts';
import { nextTick, runningTime } from '../../core/timers.ts';
import { COMMITS } from '../rows/channels.ts';
import { findWritten } from './audit-head.ts';
import type { Change, Connections, QueuedWrite } from './connections.ts';
import { DEADLINE_MS, finalError, pause, reactionTo, retryRead, stopping } from './retry.ts';
import type { SqlClient } from './sql-client.ts';
import { CommitLost, findSettled, type Outcomes, runBatch, runChange, type TaskOutcome } from './write-transaction.ts';

/** The maximum number of writes in a transaction. */
const BATCH_SIZE = 64;

/** The maximum number of waiting tasks. */
const MAX_WAITING = 4096;

/** A write of a batch, or a change that runs alone. */
interface Work {
  readonly write?: QueuedWrite<unknown>;
  readonly change?: Change<unknown>;
}

interface Task extends Work {
  readonly deadline: number;
  readonly settle: (outcome: TaskOutcome) => void;
  /** Whether the task runs alone: a change, or a write of a batch that has failed. */
  isAlone: boolean;
  /** Whether a COMMIT of the task was not answered, and did not arrive before the audit was read. */
  wasLost: boolean;
  /** Whether the task ran before. */
  wasTried: boolean;
}

/** Returns the key of the tasks that can share a statement with this one; empty without one. */
function keyOf({ write }: Task): string {
  return write?.shared?.key ?? '';
}

function settleAs(outcome: TaskOutcome, tasks: readonly Task[]): void {
  for (const { settle } of tasks) settle(outcome);
}

export interface WriteQueueOptions {
  /** How long a write waits for the database, in milliseconds. */
  readonly deadlineMs?: number | undefined;
}

/** The writes of a process. */
export type WriteQueue = Pick<Connections, 'change' | 'join' | 'close'>;

/**
 * Runs the writes of a process on one connection, one transaction after the other. Writes that wait together share a
 * transaction:
 *
 *     begin · lock the end of the audit · write … write · COMMIT
 *
 * - All statements are sent in one message. The database numbers and links the entries under the lock, so no process waits
 *   for the round trips of another.
 * - Neighbours that create, patch or remove tokens of one tenant share a statement.
 * - A write resolves after its COMMIT. A change runs alone.
 * - When a batch fails, its writes run one by one. After a temporary failure, a task runs again until its deadline,
 *   and then rejects with `vault_busy`.
 * - When the answer to COMMIT is lost, the audit shows which changes were made. If the audit cannot be read before the
 *   deadline, the tasks reject with `write_unsettled`. A COMMIT that arrives even later is found when the task is refused.
 * - If the database lacks an entry that their entries name, as after a failover that lost commits, the tasks reject with
 *   `write_conflict`.
 */
export function openWriteQueue(
  connect: () => Promise<SqlClient>,
  dropAll: () => void,
  { deadlineMs = DEADLINE_MS }: WriteQueueOptions = {},
): WriteQueue {
  let waiting: Task[] = [];
  let draining: Promise<void> | undefined;
  let isClosed = false;

  function submit<T>(work: Work): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (isClosed) throw stopping();
      if (waiting.length >= MAX_WAITING) throw new Problem('vault_busy', { retryAfter: 1 });
      const settle: Task['settle'] = (outcome) =>
        'error' in outcome ? reject(outcome.error) : resolve(outcome.result as T);
      const deadline = runningTime() + deadlineMs;
      waiting.push({ ...work, settle, deadline, isAlone: !work.write, wasLost: false, wasTried: false });
      draining ??= drain();
    });
  }

  async function drain(): Promise<void> {
    let failures = 0;
    // Wait until the current promise callbacks have run: the writes that they start share the first transaction.
    await new Promise<void>((resolve) => nextTick(resolve));
    while (waiting.length > 0) {
      if (failures > 0) await pause(failures);
      failures = (await runNext()) ? 0 : failures + 1;
    }
    draining = undefined;
  }

  /**
   * Removes the tasks of the next transaction from the queue: one change, or several writes. Only neighbours can share a
   * statement, so writes of a key are together.
   */
  function takeNext(): readonly Task[] {
    if (waiting[0]?.isAlone === true) return waiting.splice(0, 1);
    const end = waiting.findIndex(({ isAlone }) => isAlone);
    const taken = waiting.splice(0, Math.min(BATCH_SIZE, end === -1 ? BATCH_SIZE : end));
    return [...Map.groupBy(taken, keyOf).values()].flat();
  }

  /** Runs the next transaction. Resolves to false if the queue must pause before the next attempt. */
  async function runNext(): Promise<boolean> {
    const tasks = takeNext();
    const begun = runningTime();
    try {
      settleAll(tasks, await run(tasks));
      if (COMMITS.hasSubscribers) COMMITS.publish(tasks.map(({ deadline }) => begun - (deadline - deadlineMs)));
      return true;
    } catch (failure) {
      const error = failure instanceof CommitLost ? failure.cause : failure;
      const reaction = reactionTo(error, 'write');
      if (reaction === 'new_hosts') dropAll();
      const rejection = { error: finalError(error, 'write') };
      const isFinal = reaction === undefined || reaction === 'fail' || reaction === 'behind';
      if (isFinal && (reaction !== 'fail' || tasks.length === 1)) {
        settleAs(rejection, tasks);
        return true;
      }
      waiting = [...tasks, ...waiting];
      if (isFinal) {
        // Run the tasks one by one, because one of them is the cause.
        for (const task of tasks) task.isAlone = true;
        return true;
      }
      const now = runningTime();
      settleAs(
        rejection,
        waiting.filter(({ deadline }) => deadline <= now),
      );
      waiting = waiting.filter(({ deadline }) => deadline > now);
      return false;
    }
  }

  function settleAll(tasks: readonly Task[], outcomes: Outcomes): void {
    const again: Task[] = [];
    for (const [at, task] of tasks.entries()) {
      const outcome = outcomes[at];
      if (outcome === undefined) again.push(Object.assign(task, { wasLost: true }));
      else task.settle(outcome);
    }
    waiting = [...again, ...waiting];
  }

  async function run(tasks: readonly Task[]): Promise<Outcomes> {
    const client = await connect();
    const { change } = tasks[0] ?? {};
    const writes = tasks.flatMap(({ write }) => write ?? []);
    const isRepeated = tasks.some(({ wasTried }) => wasTried);
    for (const task of tasks) task.wasTried = true;
    try {
      const outcomes = await (change === undefined
        ? runBatch(client, writes, isRepeated)
        : runChange(client, change, isRepeated));
      return await foundLate(client, tasks, outcomes);
    } catch (error) {
      if (!(error instanceof CommitLost)) throw error;
      client.destroy();
      return settleLost(error, tasks);
    }
  }

  /** Replaces refusals of writes whose earlier COMMIT arrived after all. */
  async function foundLate(client: SqlClient, tasks: readonly Task[], outcomes: Outcomes): Promise<Outcomes> {
    const late = (at: number) =>
      tasks[at]?.wasLost && outcomes[at]?.hasChanged === false ? tasks[at]?.write : undefined;
    const drafts = tasks.flatMap((_, at) => late(at)?.audit ?? []);
    if (drafts.length === 0) return outcomes;
    const written = await findWritten(client.run, drafts);
    return outcomes.map((outcome, at) => {
      const write = late(at);
      return write?.audit && written.has(write.audit) ? { result: write.written } : outcome;
    });
  }

  /** Resolves to the outcomes of a transaction whose COMMIT was not answered. */
  async function settleLost(lost: CommitLost, tasks: readonly Task[]): Promise<Outcomes> {
    const find = async () => lost.settle(await findSettled(await connect(), lost.drafts));
    return retryRead(find, dropAll, { use: 'write', deadlineMs }).catch(() =>
      tasks.map(() => ({ error: new Problem('write_unsettled') })),
    );
  }

  return {
    join: (write) => submit({ write }),
    change: (change) => submit({ change }),
    async close() {
      isClosed = true;
      await draining;
    },
  };
}
