import type { AuditDraft, AuthorityDraft, SealedRow } from '../../core/audit/ports.ts';
import type { Scalar, SqlParameter } from '../rows/fragment.ts';
import type { Answers, Row } from '../rows/store-steps.ts';
import { listsOf, type Statement } from './sql-client.ts';

/** Sends a statement and resolves to its rows. */
export type Run = (statement: Statement, values?: readonly SqlParameter[]) => Promise<readonly Row[]>;

/** A statement with its values. */
export type Bound = readonly [statement: Statement, values: readonly SqlParameter[]];

/**
 * Makes PostgreSQL read indexes in their order, until the end of the transaction. With statistics older than the rows
 * of a tenant, it would read and sort all of them, and compile (`jit`) a statement whose cost it overestimates.
 */
export const PLAN_BY_ORDER = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`;

/** The settings of an inspection: its statements read whole tables in order, and may take hours. */
export const INSPECT = `${PLAN_BY_ORDER}, set_config('statement_timeout', '0', true)`;

/** A transaction that runs alone in the write queue. It holds the lock of the audit, to which it writes entries. */
export interface Transaction {
  readonly run: Run;
  /** The entries that it has written so far. */
  readonly entries: readonly SealedRow[];
  /** Appends entries without replies. */
  append(...drafts: readonly AuditDraft[]): Promise<void>;
  /**
   * Writes the entry of a change and its reply. Throws `write_conflict` if the idempotency key already has a reply, or if
   * the reply is under an older data key.
   */
  record(draft: AuditDraft | AuthorityDraft): Promise<void>;
}

export type Change<T> = (transaction: Transaction) => Promise<T>;

/** The first parameters of a statement that writes entries. */
export function entryParameters(drafts: readonly SealedRow[]): readonly SqlParameter[] {
  return listsOf(drafts, 'at', 'sealed');
}

/**
 * A change that shares a transaction with others. All its statements are sent at once, so none can depend on the answer
 * of another. Use `change` for a draft with a reply.
 */
export interface QueuedWrite<T> {
  /** The entry of the change, which its statements write if they change something. */
  readonly audit?: AuditDraft | undefined;
  /** The result if the entry was written but the answers were lost. A write without an entry runs twice. */
  readonly written: T;
  /**
   * Present if the write can share its statements with neighbours of the same key, which halves the work of the
   * server. Two writes with the same `id`, that of their record, share no statement.
   */
  readonly shared?: { readonly key: string; readonly id: string } | undefined;
  /** The values of the write in its statements. */
  readonly row?: readonly Scalar[];
  /** Returns the statements for rows with their entries. A refused row has no entry. */
  statements(drafts: readonly AuditDraft[], rows: readonly (readonly Scalar[])[]): readonly Bound[];
  /**
   * Converts the rows of the statements, in their order, to a result. `at` is the position of the write's row.
   * `hasChanged` is true if the entry was written. May throw a problem only if nothing was changed.
   */
  read(answers: Answers, at: number): { readonly hasChanged: boolean; readonly result: T };
}

/** The connections of a store. Statements write `vault.` for the configured schema. Errors become problems. */
export interface Connections {
  /** Runs a quick statement. All quick statements share one connection. */
  readonly read: Run;
  /** Runs one statement that may take long. */
  readonly readSlow: Run;
  /** Runs the statements of `query` on one snapshot. It may send them at once. */
  readSnapshot<T>(query: (run: Run) => Promise<T>): Promise<T>;
  /** Runs `readSnapshot` for an inspection, whose statements may take hours. */
  inspectSnapshot<T>(query: (run: Run) => Promise<T>): Promise<T>;
  /** Runs a change alone. No process writes meanwhile. */
  change<T>(change: Change<T>): Promise<T>;
  /** Runs a change of tokens together with others. */
  join<T>(write: QueuedWrite<T>): Promise<T>;
  /**
   * Rejects with `vault_busy` unless a server that accepts writes answers soon. Rejects with `vault_moved` if the
   * database holds another vault.
   */
  ping(): Promise<void>;
  /** Refuses further calls. Resolves when the earlier ones have ended and all connections are closed. */
  close(): Promise<void>;
}
