import type { Instant } from '../ports.ts';
import type { StoredReply } from '../reply-ports.ts';

/** A removed record, at the revision of the removed row. */
export interface EndedRecord {
  readonly id: string;
  readonly revision: number;
}

/** The part of an audit row that the store writes into another table. */
export interface DraftedReply {
  /**
   * The reply to store in the same transaction. If its idempotency key is already used, or another data key is now the
   * newest, the store changes nothing and rejects with `write_conflict`.
   */
  readonly reply?: StoredReply | undefined;
}

/** The sealed entries of a row. */
export interface SealedRow {
  readonly at: Instant;
  /**
   * The last row that the writer knew, which the sealed text names. The store writes nothing if it lacks this row, and
   * rejects with `integrity_failure` or `write_conflict`.
   */
  readonly witness: AuditHead;
  /** The sealed entries. Only the keyring reads them. */
  readonly sealed: Uint8Array;
}

/**
 * An audit row before it has its position: one or more sealed entries. The store gives the row its sequence and links
 * it inside the transaction of the recorded changes. If the changes fail, the row is not written.
 */
export interface AuditDraft extends SealedRow, DraftedReply {}

/**
 * The row of a change of authority: of the header, a tenant, its keys, its applications or their API keys. It continues
 * the digest of these records, so it is sealed under the lock of the audit, at its position.
 */
export interface AuthorityDraft extends DraftedReply {
  /** Returns the sequence of the first row that `sealBehind` needs. */
  from(): number;
  /**
   * Seals the row that follows `rows`: all rows from `from()` on. Throws the problem `write_conflict` if a prune
   * removed the first one, and `integrity_failure` for damaged rows.
   */
  sealBehind(rows: readonly AuditEntry[]): SealedRow;
}

/** A written row of the audit. The sequences are 1, 2, 3, … without a gap. A prune removes the first ones. */
export interface AuditEntry {
  readonly sequence: number;
  readonly at: Instant;
  readonly sealed: Uint8Array;
  /** From `linkOf`. Empty in a row that is not the last one of its commit. */
  readonly link: Uint8Array;
}

/** The position of an entry: the sequence of its row, and its number in the row, from 1. */
export interface AuditPosition {
  readonly sequence: number;
  readonly n: number;
}

/** The sequence of a row and its link. */
export type AuditHead = Pick<AuditEntry, 'sequence' | 'link'>;

/** The last row that the writer of a row knew. `authority` is the last row up to it with a digest; 0 without one. */
export interface Witness extends AuditHead {
  readonly authority: number;
}

/** A row of the audit, as the log index stores it. */
export interface LoggedRow {
  readonly sequence: number;
  /** The blind indexes of the row, without duplicates. */
  readonly blinds: readonly Uint8Array[];
}

/**
 * The part of a store that keeps the audit. It never changes an entry, and only `moveBase` removes
 * entries. Entries are in the order of their commits.
 */
export interface AuditStore {
  /** Appends rows that record no change, in this order, in one transaction. */
  appendAudit(drafts: readonly AuditDraft[]): Promise<void>;
  /** Appends a row with a digest. */
  appendAuthority(draft: AuthorityDraft): Promise<void>;
  /**
   * Resolves to what `readAudit` resolves to. Must be fast: every API call runs it. Reads that begin in the same tick
   * see no older state. Rejects with `vault_moved` if the vault was moved away.
   */
  followAudit(after: number, limit: number): Promise<readonly AuditEntry[]>;
  /** Resolves to the last `rows` rows and the revisions of all records of authority, from one snapshot. */
  scanAuthority(rows: number): Promise<AuthorityScan>;
  /**
   * Accepts that rows are missing which this process has seen. A file cannot lose commits, and throws the problem
   * `integrity_failure`; a database reports the loss.
   */
  acceptLoss(missing: number): void;
  /**
   * Resolves to at most `limit` rows with sequences above `after`, in order. After a prune, the first sequence may be
   * larger than `after` + 1.
   */
  readAudit(after: number, limit: number): Promise<readonly AuditEntry[]>;
  /** Resolves to the last row, with its time. The sequence and the time are 0 before the first row. */
  auditHead(): Promise<AuditHead & Pick<AuditEntry, 'at'>>;

  /**
   * Replaces the row of `base`, and removes the rows before it, in one step. Also removes their rows, and that of the
   * base, with one of `blinds` from the log index; if the log index ended before the base, it then ends there. Resolves
   * to false if the first row of the audit is no longer `from`.
   */
  moveBase(from: AuditHead, base: AuditEntry, blinds: readonly Uint8Array[]): Promise<boolean>;

  /** Resolves to the last sequence that the log index covers, 0 at first. Only a prune decreases it. */
  logIndexEnd(): Promise<number>;
  /**
   * Adds rows to the log index, which then covers all rows up to `end`. `from` is the end of the index when the rows
   * were read. Does nothing if the index now ends earlier. Skips rows that the index already contains, because several
   * processes may add the same rows.
   */
  indexLog(rows: readonly LoggedRow[], from: number, end: number): Promise<void>;
  /**
   * Resolves to the sequences of at most `limit` rows before `before`, newest first. The log index lists each of these
   * rows for one of the subjects.
   */
  findLogged(blinds: readonly Uint8Array[], before: number, limit: number): Promise<readonly number[]>;
  /** Resolves to the sequences of the rows for which the log index lacks a blind index. */
  findUnlogged(rows: readonly LoggedRow[]): Promise<readonly number[]>;
  /** Resolves to the number of blind indexes that the log index contains for rows up to `upTo`. */
  countLogIndex(upTo: number): Promise<number>;
}

/** The reads of an audit that need no log index. */
export type AuditReads = Pick<AuditStore, 'readAudit' | 'auditHead'>;

/** The revisions of all records of authority, expired ones included. The revision of a damaged row is 0. */
export interface AuthorityScan {
  /** The last rows of the audit, in order. */
  readonly rows: readonly AuditEntry[];
  /** The MAC of the header. */
  readonly mac: Uint8Array;
  readonly tenants: readonly (Pick<EndedRecord, 'id' | 'revision'> & { readonly keys: readonly number[] })[];
  readonly applications: Iterable<EndedRecord & { readonly tenant_id: string }>;
  /** The API keys. */
  readonly keys: Iterable<EndedRecord & { readonly tenant_id: string }>;
}

/** A record, as the log index names it: the caller of an entry, or a record that it names. */
export interface AuditSubject {
  readonly kind: 'actor' | 'entity';
  readonly tenant_id: string;
  readonly id: string;
}

/** The tables whose records decide who may do what, and those of tokens. */
export type DigestedTable = AuthorityTable | 'token' | 'tombstone';

export type AuthorityTable = 'header' | 'tenant' | 'tenant_key' | 'application' | 'application_key';

/** A change of one record, from one revision to another; 0 if there is no record. The header is named by its mark. */
export interface RecordChange {
  readonly table: DigestedTable;
  /** Empty for the header. */
  readonly tenant_id: string;
  readonly id: string;
  readonly from: number;
  readonly to: number;
}
