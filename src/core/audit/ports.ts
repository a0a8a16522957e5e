import type { Instant } from '../ports.ts';
import type { StoredReply } from '../reply-ports.ts';

/** A record that an entry of a row changed. */
export interface IndexedSubject {
  /** The entry's number in its row, from 1. */
  readonly n: number;
  /** The record's blind index: `Keyring.auditSubject`. */
  readonly blind: Uint8Array;
}

/**
 * A row of the audit before it has its place: one or more sealed entries. The store chains it inside the transaction of
 * the changes that it records. If the changes fail, it is not written.
 */
export interface AuditDraft {
  readonly at: Instant;
  /** The entries. Only the keyring reads them. */
  readonly sealed: Uint8Array;
  readonly subjects: readonly IndexedSubject[];
  /**
   * Written in the same transaction; it shows the records in `subjects`. If its key is already taken, the store changes
   * nothing and throws `write_conflict`.
   */
  readonly reply?: StoredReply | undefined;
  /** The blind indexes of further records in the reply: `Keyring.auditSubject`. */
  readonly shows?: readonly Uint8Array[] | undefined;
  /** 16 bytes over the row, its place and the link of the previous row: `NO_LINK` for the first. A pure function. */
  link(previous: Uint8Array, sequence: number): Uint8Array;
}

/** A row in its place. Places are 1, 2, 3, … without a gap. */
export interface AuditEntry {
  readonly sequence: number;
  readonly at: Instant;
  readonly sealed: Uint8Array;
  readonly link: Uint8Array;
}

/** The place of an entry: its row, and its number in the row, from 1. */
export interface AuditPlace {
  readonly sequence: number;
  readonly n: number;
}

/** A row and the subjects that the index must have for it. */
export type IndexedPlace = Pick<AuditPlace, 'sequence'> & Pick<AuditDraft, 'subjects'>;

/** The end of the chain. */
export interface AuditHead {
  /** 0 before the first row. */
  readonly sequence: number;
  readonly link: Uint8Array;
}

/** A row of the audit, as the log index names it. */
export interface LoggedRow {
  readonly sequence: number;
  /** Without duplicates. */
  readonly blinds: readonly Uint8Array[];
}

/** The part of a store that keeps the audit. It changes and removes no entry. */
export interface AuditStore {
  /** Writes rows without a change, in this order, in one transaction. */
  appendAudit(drafts: readonly AuditDraft[]): Promise<void>;
  /** Returns at most `limit` rows after the place `after`, in order. */
  readAudit(after: number, limit: number): Promise<readonly AuditEntry[]>;
  auditHead(): Promise<AuditHead>;
  /** Returns the place of the last entry, in the row `before` or an earlier one, with one of these subjects. */
  findAudited(subjects: readonly Uint8Array[], before: number): Promise<AuditPlace | undefined>;
  /** Returns the rows for which the index lacks a subject. */
  findUnindexed(places: readonly IndexedPlace[]): Promise<readonly number[]>;
  /** Counts the index rows of the places up to `upTo`. */
  countAuditIndex(upTo: number): Promise<number>;

  /** Returns the last row that the log index covers, 0 at first. It never decreases. */
  logIndexEnd(): Promise<number>;
  /**
   * Adds rows to the log index, which then covers all rows up to `end`. `from` is its end when they were read; an
   * earlier end makes this do nothing. Skips rows that it already has, since several processes may add them.
   */
  indexLog(rows: readonly LoggedRow[], from: number, end: number): Promise<void>;
  /**
   * Returns at most `limit` rows before `before`, last first, that the log index or the index of changes names for one
   * of these subjects.
   */
  findLogged(blinds: readonly Uint8Array[], before: number, limit: number): Promise<readonly number[]>;
  /** Returns the rows for which the log index lacks a blind index. */
  findUnlogged(rows: readonly LoggedRow[]): Promise<readonly number[]>;
  /** Counts the blind indexes of the log index for rows up to `upTo`. */
  countLogIndex(upTo: number): Promise<number>;
}

/** The key for links of the audit. It opens, seals and finds nothing. */
export interface AuditChainKey {
  readonly vault_id: string;
  readonly key: Uint8Array;
}
