import type { AuditHead } from '../../core/audit/ports.ts';
import { clearTimeout, setTimeout } from '../../core/timers.ts';
import { Undo } from '../rows/undo.ts';
import { type EntryKey, findWritten, HEAD_ROW, openTransaction, readHead, subjectStatements } from './audit-head.ts';
import type { Answers, Bound, Change, LaneMember, Run } from './connections.ts';
import { locksOf, type Prepared, prepare, sendAll } from './lane-members.ts';
import { PgError, treatmentOf } from './pg-error.ts';
import type { SqlClient, Statement } from './sql-client.ts';

/** The outcome of a task in a transaction. `hasChanged` is false if a member wrote no entry. */
export type Outcome = { readonly hasChanged?: boolean } & ({ readonly result: unknown } | { readonly error: unknown });

/** The outcomes of all tasks: undefined for a task that changed nothing and must run again. */
export type Outcomes = readonly (Outcome | undefined)[];

/** Thrown when the connection was lost after COMMIT was sent. The entries may or may not exist. */
export class CommitLost extends Error {
  declare readonly cause: PgError;
  readonly entries: readonly EntryKey[];
  /** Returns the outcomes, given the sequences of the entries that were written. */
  readonly settle: (written: ReadonlySet<number>) => Outcomes;

  constructor(cause: PgError, { entries, settle }: Pick<CommitLost, 'entries' | 'settle'>) {
    super('the answer to COMMIT was lost', { cause });
    this.entries = entries;
    this.settle = settle;
  }
}

/** The outcomes of the tasks of a committed transaction, in their order. */
interface Committed {
  readonly outcomes: Outcomes;
  /** The last entry, if the transaction wrote one. */
  readonly head: AuditHead | undefined;
  /** Whether the audit did not end where the process expected, so that no entry was written. */
  readonly isAstray?: boolean;
}

/** Returns the statement that begins a transaction. Limits it on the server, because other writes wait for its lock. */
function beginFor(limit: string): string {
  return `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit TO on;
      SET LOCAL statement_timeout TO '${limit}'; SET LOCAL lock_timeout TO '4s';
      SET LOCAL idle_in_transaction_session_timeout TO '5s'`;
}
const BEGIN_GROUP = beginFor('5s');
const BEGIN_CHANGE = beginFor('60s');
const ROLLBACK = 'ROLLBACK';

/** The times after which a silent connection is cut, in milliseconds. They exceed the limits on the server. */
const GROUP_LIMIT_MS = 10_000;
const CHANGE_LIMIT_MS = 65_000;

/** The SQLSTATE of the statements that follow a failed statement in its transaction. */
const AFTER_FAILURE = '25P02';

/** Begins a transaction that holds the lock of the audit. Resolves to its last entry. */
async function begin(client: SqlClient, statement: Statement): Promise<AuditHead> {
  const run: Run = client.run;
  // Read the head in a separate statement: the statement that waits for the lock does not see commits during the wait.
  const [, , head] = await Promise.all([run(statement), run(HEAD_ROW.lockHead), readHead(run)]);
  return head;
}

/** Rolls the transaction back if `work` fails. Cuts the connection if that fails, too. */
async function orRollBack<T>(client: SqlClient, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await client.run(ROLLBACK).catch(() => client.destroy());
    throw error;
  }
}

/** Cuts the connection if `work` takes longer than `limit` milliseconds. */
async function within<T>(client: SqlClient, limit: number, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => client.destroy(), limit);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

function isLost(error: PgError): boolean {
  return treatmentOf(error, 'write').reaction === 'reconnect';
}

/**
 * Returns the outcome of a member. After the loss of a COMMIT, `written` has the sequences of the entries that exist.
 */
function outcomeOf(
  { member, entry, at, failure }: Prepared,
  answers: PromiseSettledResult<Answers> | undefined,
  written?: ReadonlySet<number>,
): Outcome | undefined {
  if (failure !== undefined) return failure;
  if (written !== undefined) {
    // If its entry was not written, the member changed nothing. A member without an entry may run twice.
    if (entry === undefined || !written.has(entry.sequence)) return undefined;
    if (answers?.status !== 'fulfilled') return { result: member.written };
  }
  try {
    if (answers?.status === 'rejected') throw answers.reason;
    return member.read(answers?.value ?? [], at);
  } catch (error) {
    return { error, hasChanged: false };
  }
}

/**
 * Runs members in one transaction. Sends their statements and COMMIT in one write. With `known`, where the audit probably
 * ends, that write also begins the transaction. Rejects with the first error after a rollback, or with `CommitLost`.
 */
export function runGroup(client: SqlClient, members: readonly LaneMember<unknown>[], known?: AuditHead) {
  return within(client, GROUP_LIMIT_MS, async (): Promise<Committed> => {
    const head = known ?? (await orRollBack(client, () => begin(client, BEGIN_GROUP)));
    const prepared = prepare(members, head);
    const entries = prepared.flatMap(({ entry }) => entry ?? []);
    const locks: readonly Bound[] = [
      ...(known === undefined ? [] : [[BEGIN_GROUP, []] as const, [HEAD_ROW.lockHead, []] as const]),
      ...locksOf(members),
    ];
    const send = ([statement, values]: Bound) => client.run(statement, values);
    const [locked, answers, indexed, committed] = await Promise.all([
      Promise.allSettled(locks.map(send)),
      Promise.allSettled(sendAll(client.run, prepared)),
      Promise.allSettled(subjectStatements(entries).map(send)),
      client.commit().then(
        () => undefined,
        (error: PgError) => error,
      ),
    ]);
    const settle = (written?: ReadonlySet<number>) => prepared.map((each, at) => outcomeOf(each, answers[at], written));
    if (committed === undefined) {
      const outcomes = settle();
      const first = prepared.findIndex(({ entry }) => entry !== undefined);
      const last = prepared.findLast(({ entry }, at) => entry !== undefined && outcomes[at]?.hasChanged === true);
      return { outcomes, head: last?.entry, isAstray: first >= 0 && outcomes[first] === undefined };
    }
    if (isLost(committed)) throw new CommitLost(committed, { entries, settle });
    const failures = [...locked, ...answers, ...indexed].flatMap((each) =>
      each.status === 'rejected' && each.reason instanceof PgError ? [each.reason] : [],
    );
    throw failures.find(({ code }) => code !== AFTER_FAILURE) ?? committed;
  });
}

/** Runs a change alone in a transaction. Rejects with a `PgError` after a rollback, or with `CommitLost`. */
export function runChange(client: SqlClient, change: Change<unknown>): Promise<Committed> {
  return within(client, CHANGE_LIMIT_MS, async () => {
    let entries: readonly AuditHead[] = [];
    let done: Outcome;
    try {
      done = await orRollBack(client, async () => {
        const transaction = openTransaction(client.run, await begin(client, BEGIN_CHANGE));
        ({ entries } = transaction);
        return { result: await change(transaction) };
      });
    } catch (error) {
      if (error instanceof PgError) throw error;
      return { outcomes: [error instanceof Undo ? { result: error.result } : { error }], head: undefined };
    }
    try {
      await client.commit();
    } catch (error) {
      if (!(error instanceof PgError) || !isLost(error)) throw error;
      // A transaction writes all of its entries or none. A change without an entry may run twice.
      const settle: CommitLost['settle'] = (written) => [written.size > 0 ? done : undefined];
      throw new CommitLost(error, { entries, settle });
    }
    return { outcomes: [done], head: entries.at(-1) };
  });
}

/**
 * Waits for the end of the transaction that may have written the entries. Resolves to the sequences of those that exist.
 */
export function findSettled(client: SqlClient, entries: readonly EntryKey[]) {
  const find = async () => {
    await client.run(BEGIN_GROUP);
    // The lost transaction holds the lock until its end.
    await client.run(HEAD_ROW.lockHead);
    const written = await findWritten(client.run, entries);
    await client.commit();
    return written;
  };
  return within(client, GROUP_LIMIT_MS, () => orRollBack(client, find));
}
