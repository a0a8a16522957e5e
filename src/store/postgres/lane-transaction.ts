import { ROOT_CHAIN } from '../../core/audit/audit-link.ts';
import type { AuditDraft, AuditHead } from '../../core/audit/ports.ts';
import {
  appendEntries,
  CHAIN,
  findWritten,
  type PlacedEntry,
  placeBehind,
  readHead,
  subjectStatements,
} from './audit-chain.ts';
import { type Bound, type LaneMember, type Run, type Transaction, Undo } from './connections.ts';
import { locksOf } from './lock-rows.ts';
import { PgError, treatmentOf } from './pg-error.ts';
import { insertReply, removeRepliesOf, requireFree } from './reply-rows.ts';
import type { Row, SqlClient, Statement } from './sql-client.ts';

/**
 * The outcome of a task in a transaction. `again`: the transaction changed nothing for the task, which must run again.
 */
export type Outcome =
  | { readonly state: 'done'; readonly result: unknown }
  | { readonly state: 'refused'; readonly error: unknown }
  | { readonly state: 'again' }
  | { readonly state: 'unsettled' };

/** Thrown when a transaction failed and was rolled back, or its connection was lost before COMMIT was sent. */
export class TransactionFailed extends Error {
  override readonly cause: PgError;

  constructor(cause: PgError) {
    super('the transaction failed');
    this.cause = cause;
  }
}

/** Thrown when the connection was lost after COMMIT was sent. The entries may or may not exist. */
export class CommitLost extends Error {
  override readonly cause: PgError;
  readonly entries: readonly PlacedEntry[];
  /** Returns the outcomes, given the sequences of the entries that were written. */
  readonly settle: (written: ReadonlySet<number>) => readonly Outcome[];

  constructor(cause: PgError, entries: readonly PlacedEntry[], settle: CommitLost['settle']) {
    super('the answer to COMMIT was lost');
    this.cause = cause;
    this.entries = entries;
    this.settle = settle;
  }
}

/**
 * Returns the statement that begins a transaction with time limits on the server, because every write needs its lock.
 */
function beginFor(limit: string): Statement {
  return {
    text: `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit TO on;
      SET LOCAL statement_timeout TO '${limit}'; SET LOCAL lock_timeout TO '4s';
      SET LOCAL idle_in_transaction_session_timeout TO '5s'`,
  };
}
const BEGIN_GROUP = beginFor('5s');
const BEGIN_CHANGE = beginFor('60s');
const ROLLBACK: Statement = { text: 'ROLLBACK' };

/** The time after which a silent connection is cut, in milliseconds. It is longer than the limits on the server. */
const GROUP_LIMIT_MS = 10_000;
const CHANGE_LIMIT_MS = 65_000;

/** The SQLSTATE of the statements that follow a failed statement in its transaction. */
const AFTER_FAILURE = '25P02';

/** Begins a transaction that holds the lock of the chain. Resolves to the chain's head. */
async function begin(client: SqlClient, statement: Statement): Promise<AuditHead> {
  const run: Run = client.run;
  const [, , head] = await client.together(() =>
    // Read the head in a separate statement: the statement that waits for the lock does not see commits during the
    // wait.
    Promise.all([run(statement), run(CHAIN.lock, [ROOT_CHAIN]), readHead(run, ROOT_CHAIN)]),
  );
  return head;
}

/** Rolls a transaction back. Cuts the connection if that fails. */
async function rollBack(client: SqlClient): Promise<void> {
  await client.run(ROLLBACK).catch(() => client.destroy());
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

/** A member of a group with its statements, or with the error of making them. */
type Sendable =
  | { readonly member: LaneMember<unknown>; readonly entry: PlacedEntry | undefined; readonly bound: readonly Bound[] }
  | { readonly error: unknown };

/** Gives the entries of the members consecutive places, as if each member changed something. */
export function prepare(members: readonly LaneMember<unknown>[], head: AuditHead): readonly Sendable[] {
  let last = head;
  return members.map((member) => {
    try {
      const entry = member.audit && placeBehind(last, member.audit);
      const bound = member.statements(entry);
      last = entry ?? last;
      return { member, entry, bound };
    } catch (error) {
      return { error };
    }
  });
}

type Answers = PromiseSettledResult<readonly (readonly Row[])[]>;

/** Returns the outcome of a member whose statements were answered. */
export function readOutcome(
  { member }: { readonly member: LaneMember<unknown> },
  answers: readonly (readonly Row[])[],
): Outcome {
  try {
    const { isHead, result } = member.read(answers);
    return isHead ? { state: 'done', result } : { state: 'again' };
  } catch (error) {
    return { state: 'refused', error };
  }
}

/**
 * Returns the outcome of a member whose connection was lost at COMMIT. `written` has the sequences of the entries that
 * exist.
 */
function settleMember(prepared: Sendable, answers: Answers | undefined, written: ReadonlySet<number>): Outcome {
  if ('error' in prepared) return { state: 'refused', error: prepared.error };
  const { member, entry } = prepared;
  // If its entry was not written, the member changed nothing. A member without an entry may run twice.
  if (entry === undefined || !written.has(entry.sequence)) return { state: 'again' };
  if (answers?.status === 'fulfilled') return readOutcome({ member }, answers.value);
  return 'written' in member ? { state: 'done', result: member.written } : { state: 'unsettled' };
}

/**
 * Runs members in one transaction. Sends their statements and COMMIT in one write. Resolves to their outcomes, in their
 * order. Rejects with `TransactionFailed` or `CommitLost`.
 */
export function runGroup(client: SqlClient, members: readonly LaneMember<unknown>[]): Promise<readonly Outcome[]> {
  return within(client, GROUP_LIMIT_MS, async () => {
    let head: AuditHead;
    try {
      head = await begin(client, BEGIN_GROUP);
    } catch (error) {
      await rollBack(client);
      if (error instanceof PgError) throw new TransactionFailed(error);
      throw error;
    }
    const prepared = prepare(members, head);
    const sendable = prepared.filter((each) => 'member' in each);
    const entries = sendable.flatMap(({ entry, member }) =>
      entry === undefined ? [] : [{ ...entry, isRemoval: member.isRemoval }],
    );
    const locks = locksOf(
      sendable.flatMap(({ member }) => member.gates ?? []),
      sendable.flatMap(({ member }) => member.tokens ?? []),
    );
    const send = ([statement, values]: Bound) => client.run(statement, values);
    const [locked, answers, indexed, committed] = await client.together(() =>
      Promise.all([
        Promise.allSettled(locks.map(send)),
        Promise.allSettled(sendable.map(({ bound }) => Promise.all(bound.map(send)))),
        Promise.allSettled(subjectStatements(entries).map(send)),
        client.commit().then(
          () => undefined,
          (error: PgError) => error,
        ),
      ]),
    );
    const answersOf = new Map(sendable.map((each, at) => [each, answers[at]]));
    if (committed === undefined) {
      return prepared.map((each) => {
        if ('error' in each) return { state: 'refused', error: each.error };
        const answer = answersOf.get(each);
        return readOutcome(each, answer?.status === 'fulfilled' ? answer.value : []);
      });
    }
    if (isLost(committed)) {
      throw new CommitLost(committed, entries, (written) =>
        prepared.map((each) => settleMember(each, 'member' in each ? answersOf.get(each) : undefined, written)),
      );
    }
    const failures = [...locked, ...answers, ...indexed].flatMap((each) =>
      each.status === 'rejected' && each.reason instanceof PgError ? [each.reason] : [],
    );
    throw new TransactionFailed(failures.find(({ code }) => code !== AFTER_FAILURE) ?? committed);
  });
}

/** A change's transaction, and what it has done so far. */
interface OpenTransaction {
  readonly transaction: Transaction;
  readonly entries: readonly PlacedEntry[];
  /** The first error of a statement. */
  readonly failure: () => PgError | undefined;
}

const TOUCH_AUTHORITY: Statement = { text: 'UPDATE vault.sweep SET authority = gen_random_uuid()' };

/** Returns the functions of a transaction that holds the lock of the chain. `head` is the last entry of the chain. */
export function openTransaction(send: Run, head: AuditHead): OpenTransaction {
  const entries: PlacedEntry[] = [];
  let failure: PgError | undefined;

  const run: Run = async (statement, values) => {
    try {
      return await send(statement, values);
    } catch (error) {
      if (error instanceof PgError) failure ??= error;
      throw error;
    }
  };

  async function append(drafts: readonly AuditDraft[], isRemoval: boolean): Promise<void> {
    const from = entries.length;
    for (const draft of drafts) entries.push(placeBehind(entries.at(-1) ?? head, draft));
    await appendEntries(run, entries.slice(from), isRemoval);
  }

  return {
    entries,
    failure: () => failure,
    transaction: {
      run,
      append: (...drafts) => append(drafts, false),
      requireFree: (draft) => requireFree(run, draft),
      async record(draft) {
        await append([draft], false);
        await insertReply(run, draft);
      },
      recordRemoval: (draft) => append([draft], true),
      removeRepliesOf: (tenantId, applicationIds) => removeRepliesOf(run, tenantId, applicationIds),
      async touchAuthority() {
        await run(TOUCH_AUTHORITY);
      },
    },
  };
}

/** Runs a change alone in a transaction. Rejects with `TransactionFailed` or `CommitLost`. */
export function runChange(
  client: SqlClient,
  change: (transaction: Transaction) => Promise<unknown>,
): Promise<readonly Outcome[]> {
  return within(client, CHANGE_LIMIT_MS, async () => {
    let opened: OpenTransaction | undefined;
    let done: Outcome;
    try {
      opened = openTransaction(client.run, await begin(client, BEGIN_CHANGE));
      done = { state: 'done', result: await change(opened.transaction) };
    } catch (error) {
      await rollBack(client);
      const failure = opened?.failure() ?? error;
      if (failure instanceof PgError) throw new TransactionFailed(failure);
      return [error instanceof Undo ? { state: 'done', result: error.result } : { state: 'refused', error }];
    }
    const { entries, failure } = opened;
    try {
      await client.commit();
    } catch (error) {
      if (!(error instanceof PgError)) throw error;
      if (!isLost(error)) throw new TransactionFailed(failure() ?? error);
      // A transaction writes all of its entries or none. A change without an entry may run twice.
      throw new CommitLost(error, entries, (written) => [written.size > 0 ? done : { state: 'again' }]);
    }
    return [done];
  });
}

/**
 * Waits for the end of the transaction that may have written the entries. Resolves to the sequences of those that
 * exist.
 */
export function findSettled(client: SqlClient, entries: readonly PlacedEntry[]): Promise<ReadonlySet<number>> {
  return within(client, GROUP_LIMIT_MS, async () => {
    try {
      // The lost transaction holds the lock of the chain until its end.
      await begin(client, BEGIN_GROUP);
      return await findWritten(client.run, entries);
    } finally {
      await rollBack(client);
    }
  });
}
