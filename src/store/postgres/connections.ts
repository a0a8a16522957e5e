import type { AuditDraft } from '../../core/audit/ports.ts';
import type { Parameter, Row, Statement } from './sql-client.ts';

/** Sends a statement and resolves to its rows. */
export type Run = (statement: Statement, values?: readonly Parameter[]) => Promise<readonly Row[]>;

/** A statement with its values. */
export type Bound = readonly [statement: Statement, values: readonly Parameter[]];

/** A transaction that runs alone on the lane. It holds the lock of the audit's chain. */
export interface Transaction {
  readonly run: Run;
  /** Appends entries to the audit, with their subjects. Does not write replies. */
  append(...drafts: readonly AuditDraft[]): Promise<void>;
  /** Throws `write_conflict` if the idempotency key of the draft's reply is used. Call it before a change that would fail when repeated. */
  requireFree(draft: AuditDraft): Promise<void>;
  /** Writes the entry of a change and its reply. Throws `write_conflict` if the idempotency key already has a reply. */
  record(draft: AuditDraft): Promise<void>;
  /** Writes the entry of a removal and empties the replies that show a removed record. */
  recordRemoval(draft: AuditDraft): Promise<void>;
  /** Removes the replies to removed applications. */
  removeRepliesOf(tenantId: string, applicationIds: readonly string[]): Promise<void>;
  /** Must be called in every change of a tenant, an application or a key. */
  touchAuthority(): Promise<void>;
}

/** Thrown in a transaction to roll it back and to resolve the change to `result`. */
export class Undo<T> extends Error {
  readonly result: T;

  constructor(result: T) {
    super('the transaction is undone');
    this.result = result;
  }
}

/** The place of an audit entry, made before the entry is written. */
export interface Place {
  readonly chain: string;
  readonly sequence: number;
  /** The link of the entry before. */
  readonly previous: Uint8Array;
  readonly at: number;
  readonly sealed: Uint8Array;
  readonly link: Uint8Array;
}

/** The first six parameters of a statement that writes an audit entry. */
export function placeParameters({ chain, sequence, previous, at, sealed, link }: Place): readonly Parameter[] {
  return [chain, sequence, previous, at, sealed, link];
}

/**
 * A change that shares a transaction with others: its statements are sent at once, without waiting for answers. A draft
 * with a reply needs `change` instead.
 */
export interface LaneMember<T> {
  /** The tokens that the change writes, locked before it. */
  readonly tokens?: readonly { readonly tenant_id: string; readonly id: string }[] | undefined;
  /** The rows of `gate`, locked before it. */
  readonly gates?: readonly number[] | undefined;
  /** Absent: no entry. `statements` then receives no place. */
  readonly audit?: AuditDraft | undefined;
  /** Whether the entry is that of a removal, which empties the replies that show the record. */
  readonly isRemoval?: boolean | undefined;
  /** Whether the change may refuse. Such members go last in their transaction. */
  readonly mayRefuse?: boolean | undefined;
  /**
   * The result when the entry was written but the answers were lost with the connection. Without it the caller receives
   * `write_unsettled` then. A member without an entry must bear to run twice.
   */
  readonly written?: T;
  statements(place: Place | undefined): readonly Bound[];
  /**
   * Reads the rows of the statements, in their order. `isHead` is false when the place was taken: nothing was changed,
   * and the member runs again. `hasChanged` tells whether the entry was written. May throw a problem, when nothing was
   * changed.
   */
  read(answers: readonly (readonly Row[])[]): {
    readonly isHead: boolean;
    readonly hasChanged: boolean;
    readonly result: T;
  };
}

/** The connections of a store. Texts of statements name the schema `vault.`; errors become problems. */
export interface Connections {
  /** Runs one quick statement by the key of a row, together with others on one connection. */
  readonly read: Run;
  /** Runs one statement that may take long. */
  readonly readSlow: Run;
  /** Runs statements on one snapshot. Those that do not need each other's rows can be sent at once. */
  readSnapshot<T>(query: (run: Run) => Promise<T>): Promise<T>;
  /** Runs a change alone in a transaction. */
  change<T>(change: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Runs a change together with others. */
  join<T>(member: LaneMember<T>): Promise<T>;
}
