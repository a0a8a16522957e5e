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

/** What a transaction did for one of its tasks. `again`: nothing; the task must run again. */
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

/** Thrown when the connection was lost after COMMIT was sent: whether the entries were written is not known. */
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

/** The server ends each statement, and a transaction whose client is silent, after some time: it holds the lock. */
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

/** The milliseconds after which a silent connection is cut. Longer than what the server allows. */
const GROUP_LIMIT_MS = 10_000;
const CHANGE_LIMIT_MS = 65_000;

/** The code of the statements after the one that failed. */
const AFTER_FAILURE = '25P02';

/** Begins a transaction that holds the lock of the chain. Resolves to the chain's head. */
async function begin(client: SqlClient, statement: Statement): Promise<AuditHead> {
  const run: Run = client.run;
  const [, , head] = await client.together(() =>
    // The head is read by a statement of its own: one that waits for a lock does not see what is committed meanwhile.
    Promise.all([run(statement), run(CHAIN.lock, [ROOT_CHAIN]), readHead(run, ROOT_CHAIN)]),
  );
  return head;
}

/** Ends a transaction without a change, and the connection if that is not possible. */
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

/** Places the entries of the members one behind the other, as if each changed something. */
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

/** Returns the outcome of a member whose transaction was committed, or not, after its connection was lost. */
function settleMember(prepared: Sendable, answers: Answers | undefined, written: ReadonlySet<number>): Outcome {
  if ('error' in prepared) return { state: 'refused', error: prepared.error };
  const { member, entry } = prepared;
  // A member whose entry was not written changed nothing. One without an entry can run twice.
  if (entry === undefined || !written.has(entry.sequence)) return { state: 'again' };
  if (answers?.status === 'fulfilled') return readOutcome({ member }, answers.value);
  return 'written' in member ? { state: 'done', result: member.written } : { state: 'unsettled' };
}

/**
 * Runs members in one transaction: their statements and COMMIT leave in one write. Resolves to their outcomes, in their
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

/** Returns the functions of a transaction that holds the lock of the chain, whose last entry is `head`. */
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
      // One transaction: all entries were written, or none. A change without an entry can run twice.
      throw new CommitLost(error, entries, (written) => [written.size > 0 ? done : { state: 'again' }]);
    }
    return [done];
  });
}

/** Resolves to the entries that exist, once the transaction that may write them has ended. */
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
