import type { SealedRow } from '../../core/audit/ports.ts';
import { clearTimeout, setTimeout } from '../../core/timers.ts';
import { Rollback } from '../rows/rollback.ts';
import type { Answers } from '../rows/store-steps.ts';
import { findWritten, HEAD_ROW, openTransaction, requireWitnesses } from './audit-head.ts';
import type { Bound, Change, QueuedWrite } from './connections.ts';
import { PgError, treatmentOf } from './pg-error.ts';
import { type Prepared, prepare, sendAll } from './queued-writes.ts';
import type { SqlClient, Statement } from './sql-client.ts';

/** The outcome of a task in a transaction. `hasChanged` is false if a write added no entry. */
export type TaskOutcome = { readonly hasChanged?: boolean } & (
  | { readonly result: unknown }
  | { readonly error: unknown }
);

/** The outcomes of all tasks: undefined for a task that changed nothing and must run again. */
export type Outcomes = readonly (TaskOutcome | undefined)[];

/** Thrown when the connection was lost after COMMIT was sent. The entries may or may not exist. */
export class CommitLost extends Error {
  declare readonly cause: PgError;
  readonly drafts: readonly SealedRow[];
  /** Returns the outcomes, given the entries that were written. */
  readonly settle: (written: ReadonlySet<SealedRow>) => Outcomes;

  constructor(cause: PgError, { drafts, settle }: Pick<CommitLost, 'drafts' | 'settle'>) {
    super('the answer to COMMIT was lost', { cause });
    this.drafts = drafts;
    this.settle = settle;
  }
}

/**
 * Returns the statement that begins a transaction. Limits it on the server, because other writes wait for its lock:
 * half a second if this process is stopped meanwhile. A repeated transaction has more time, for slow networks.
 */
function beginFor(limit: string, isRepeated = false): string {
  return `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit TO on;
      SET LOCAL statement_timeout TO '${limit}'; SET LOCAL lock_timeout TO '4s';
      SET LOCAL idle_in_transaction_session_timeout TO '${isRepeated ? '5s' : '500ms'}'`;
}
const BATCH_LIMIT = '5s';
const CHANGE_LIMIT = '60s';
const ROLLBACK = 'ROLLBACK';

/** The times after which a silent connection is cut, in milliseconds. They exceed the limits on the server. */
const BATCH_LIMIT_MS = 10_000;
const CHANGE_LIMIT_MS = 65_000;

/** The SQLSTATE of the statements that follow a failed statement in its transaction. */
const AFTER_FAILURE = '25P02';

/**
 * Returns the statements that begin a transaction and take the lock of the audit's end. The statement that waits for
 * the lock does not see commits during the wait; later ones do.
 */
function beginning(statement: Statement): readonly Bound[] {
  return [
    [statement, []],
    [HEAD_ROW.lockHead, []],
  ];
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
 * Returns the outcome of a write. After the loss of a COMMIT, `written` has the entries that exist.
 */
function outcomeOf(
  { write, at }: Prepared,
  answers: PromiseSettledResult<Answers> | undefined,
  written?: ReadonlySet<SealedRow>,
): TaskOutcome | undefined {
  if (written !== undefined) {
    // If its entry was not written, the write changed nothing. A write without an entry may run twice.
    if (write.audit === undefined || !written.has(write.audit)) return undefined;
    if (answers?.status !== 'fulfilled') return { result: write.written };
  }
  try {
    if (answers?.status === 'rejected') throw answers.reason;
    return write.read(answers?.value ?? [], at);
  } catch (error) {
    return { error, hasChanged: false };
  }
}

/**
 * Runs writes in one transaction. Sends all statements, from BEGIN to COMMIT, in one message: no other process waits
 * for this one. Rejects with the first error after a rollback, or with `CommitLost`.
 */
export function runBatch(
  client: SqlClient,
  writes: readonly QueuedWrite<unknown>[],
  isRepeated?: boolean,
): Promise<Outcomes> {
  return within(client, BATCH_LIMIT_MS, async () => {
    const prepared = prepare(writes, { drafts: true });
    const drafts = writes.flatMap(({ audit }) => audit ?? []);
    const send = ([statement, values]: Bound) => client.run(statement, values);
    const [begun, answers, committed] = await Promise.all([
      Promise.allSettled([...beginning(beginFor(BATCH_LIMIT, isRepeated)), ...requireWitnesses(drafts)].map(send)),
      Promise.allSettled(sendAll(client.run, prepared)),
      client.commit().then(
        () => undefined,
        (error: PgError) => error,
      ),
    ]);
    const settle = (written?: ReadonlySet<SealedRow>) =>
      prepared.map((each, at) => outcomeOf(each, answers[at], written));
    if (committed === undefined) return settle();
    if (isLost(committed)) throw new CommitLost(committed, { drafts, settle });
    const failures = [...begun, ...answers].flatMap((each) =>
      each.status === 'rejected' && each.reason instanceof PgError ? [each.reason] : [],
    );
    throw failures.find(({ code }) => code !== AFTER_FAILURE) ?? committed;
  });
}

/** Runs a change alone in a transaction. Rejects with a `PgError` after a rollback, or with `CommitLost`. */
export function runChange(client: SqlClient, change: Change<unknown>, isRepeated?: boolean): Promise<Outcomes> {
  return within(client, CHANGE_LIMIT_MS, async () => {
    let drafts: readonly SealedRow[] = [];
    let done: TaskOutcome;
    try {
      done = await orRollBack(client, async () => {
        await Promise.all(
          beginning(beginFor(CHANGE_LIMIT, isRepeated)).map(([statement, values]) => client.run(statement, values)),
        );
        const transaction = openTransaction(client.run);
        drafts = transaction.entries;
        return { result: await change(transaction) };
      });
    } catch (error) {
      if (error instanceof PgError) throw error;
      return [error instanceof Rollback ? { result: error.result } : { error }];
    }
    try {
      await client.commit();
    } catch (error) {
      if (!(error instanceof PgError) || !isLost(error)) throw error;
      // A transaction writes all of its entries or none. A change without an entry may run twice.
      const settle: CommitLost['settle'] = (written) => [written.size > 0 ? done : undefined];
      throw new CommitLost(error, { drafts, settle });
    }
    return [done];
  });
}

/** Waits for the end of the transaction that may have written these entries. Resolves to those that exist. */
export function findSettled(client: SqlClient, drafts: readonly SealedRow[]): Promise<ReadonlySet<SealedRow>> {
  const find = async () => {
    // The lost transaction holds the lock until its end.
    for (const [statement, values] of beginning(beginFor(BATCH_LIMIT))) await client.run(statement, values);
    const written = await findWritten(client.run, drafts);
    await client.commit();
    return written;
  };
  return within(client, BATCH_LIMIT_MS, () => orRollBack(client, find));
}
