import type { AuditHead } from '../../core/audit/ports.ts';
import { Problem } from '../../core/problem.ts';
import { runningTime } from '../../core/running-time.ts';
import { nextTick } from '../../core/timers.ts';
import { COMMITS, LOSSES, type Loss } from '../rows/channels.ts';
import { countLost } from './audit-head.ts';
import type { Change, Connections, LaneMember } from './connections.ts';
import { CommitLost, findSettled, type Outcome, type Outcomes, runChange, runGroup } from './lane-transaction.ts';
import { DEADLINE_MS, finalError, pause, reactionTo, retryRead, stopping } from './retry.ts';
import type { SqlClient } from './sql-client.ts';

/** The maximum numbers of members in a transaction, and of those that may refuse. */
const GROUP_SIZE = 64;
const MAX_REFUSERS = 8;

/** The number of transactions after which a member that may refuse is no longer last. */
const MAX_LAST = 32;

/** The maximum number of waiting tasks. */
const MAX_WAITING = 4096;

const TOUCH_AUTHORITY = 'UPDATE vault.sweep SET authority = gen_random_uuid()';

/** A member of a group, or a change that runs alone. */
interface Work {
  readonly member?: LaneMember<unknown>;
  readonly change?: Change<unknown>;
}

interface Task extends Work {
  readonly deadline: number;
  readonly settle: (outcome: Outcome) => void;
  /** Whether the task runs alone: a change, or a member of a group that has failed. */
  isAlone: boolean;
  /** How often the task has run without an outcome. */
  runs: number;
}

/** Returns the key of the tasks that can share a statement with this one; empty without one. */
function keyOf({ member }: Task): string {
  return member?.shared?.key ?? '';
}

function settleAs(outcome: Outcome, tasks: readonly Task[]): void {
  for (const { settle } of tasks) settle(outcome);
}

export interface LaneOptions {
  /** How long a write waits for the database, in milliseconds. */
  readonly deadlineMs?: number | undefined;
}

/** The writes of a process. */
export type Lane = Pick<Connections, 'change' | 'changeTokens' | 'join' | 'close'>;

/**
 * Runs the writes of a process on one connection, one transaction after the other. Members that wait together share a
 * transaction:
 *
 *     begin · lock head · locks · member … member · subjects · COMMIT
 *
 * - A group expects the end of the audit where the process left it, and then takes one round trip. If another process
 *   has written since, nothing is written, and the next group reads the end under the lock.
 * - Neighbours that create, patch or remove tokens of one tenant share a statement.
 * - A write resolves after its COMMIT. A change runs alone.
 * - A member whose place is taken, because an earlier member changed nothing, runs again in the next transaction.
 * - When a group fails, its members run one by one. After a temporary failure, a task runs again until its deadline,
 *   and then rejects with `vault_busy`.
 * - When the answer to COMMIT is lost, the audit shows which changes were made. If the audit cannot be read before the
 *   deadline, the tasks reject with `write_unsettled`.
 */
export function openLane(
  connect: () => Promise<SqlClient>,
  dropAll: () => void,
  { deadlineMs = DEADLINE_MS }: LaneOptions = {},
): Lane {
  let waiting: Task[] = [];
  let draining: Promise<void> | undefined;
  let isClosed = false;
  /** The keys of unexpected refusals in the last transaction: their next members may be refused, too. */
  let suspects: ReadonlySet<string> = new Set();
  /** The last entry that this process wrote, until another process writes. */
  let known: AuditHead | undefined;

  function submit<T>(work: Work): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (isClosed) throw stopping();
      if (waiting.length >= MAX_WAITING) throw new Problem('vault_busy', { retryAfter: 1 });
      const settle: Task['settle'] = (outcome) =>
        'error' in outcome ? reject(outcome.error) : resolve(outcome.result as T);
      waiting.push({ ...work, settle, deadline: runningTime() + deadlineMs, isAlone: !work.member, runs: 0 });
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
   * Removes the tasks of the next transaction from the queue: one change, or several members. Members that may refuse
   * are last, and so are the next members of a key that was refused: they must not make the writes of others run again.
   */
  function takeNext(): readonly Task[] {
    if (waiting[0]?.isAlone === true) return waiting.splice(0, 1);
    const end = waiting.findIndex(({ isAlone }) => isAlone);
    const open = end === -1 ? waiting : waiting.slice(0, end);
    const mayRefuse = (task: Task) =>
      task.runs < MAX_LAST && (task.member?.mayRefuse === true || suspects.has(keyOf(task)));
    const refusers = open.filter(mayRefuse).slice(0, MAX_REFUSERS);
    const sure = open.filter((task) => !mayRefuse(task)).slice(0, GROUP_SIZE - refusers.length);
    // Only neighbours can share a statement. The first task stays first, so it ends with this transaction.
    const taken = new Set([...[...Map.groupBy(sure, keyOf).values()].flat(), ...refusers]);
    waiting = waiting.filter((task) => !taken.has(task));
    return [...taken];
  }

  /** Runs the next transaction. Resolves to false if the lane must pause before the next attempt. */
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
      const isFinal = reaction === undefined || reaction === 'fail';
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
    for (const [at, task] of tasks.entries()) {
      task.runs += 1;
      const outcome = outcomes[at];
      if (outcome !== undefined) task.settle(outcome);
    }
    const isSuspect = ({ member }: Task, at: number) =>
      outcomes[at]?.hasChanged === false && member?.mayRefuse !== true && member?.shared !== undefined;
    suspects = new Set(tasks.filter(isSuspect).map(keyOf));
    // The oldest is first in the next transaction, so that newer tasks cannot make it run again for ever.
    const again = tasks.filter((_, at) => outcomes[at] === undefined);
    waiting = [...again.toSorted((a, b) => a.deadline - b.deadline), ...waiting];
  }

  async function run(tasks: readonly Task[]): Promise<Outcomes> {
    const client = await connect();
    const { change } = tasks[0] ?? {};
    const members = tasks.flatMap(({ member }) => member ?? []);
    const expected = known;
    try {
      const { outcomes, head, isAstray } = await (change === undefined
        ? runGroup(client, members, expected)
        : runChange(client, change));
      known = isAstray === true ? undefined : (head ?? known);
      if (isAstray === true && expected !== undefined) await reportLost(client, expected);
      return outcomes;
    } catch (error) {
      if (!(error instanceof CommitLost)) throw error;
      client.destroy();
      known = undefined;
      return settleLost(error, tasks);
    }
  }

  /** Publishes the number of rows up to `head` that are missing: after a failover, the new server may lack commits. */
  async function reportLost({ run }: SqlClient, head: AuditHead): Promise<void> {
    const missing = await countLost(run, head);
    if (missing > 0) LOSSES.publish({ missing } satisfies Loss);
  }

  /** Resolves to the outcomes of a transaction whose COMMIT was not answered. */
  async function settleLost(lost: CommitLost, tasks: readonly Task[]): Promise<Outcomes> {
    const find = async () => lost.settle(await findSettled(await connect(), lost.entries));
    return retryRead(find, dropAll, { use: 'write', deadlineMs }).catch(() =>
      tasks.map(() => ({ error: new Problem('write_unsettled') })),
    );
  }

  return {
    join: (member) => submit({ member }),
    change: (change) =>
      submit({
        async change(transaction) {
          const result = await change(transaction);
          if (transaction.entries.length > 0) await transaction.run(TOUCH_AUTHORITY);
          return result;
        },
      }),
    changeTokens: (change) => submit({ change }),
    async close() {
      isClosed = true;
      await draining;
    },
  };
}
