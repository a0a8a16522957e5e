import type { Instant } from '../ports.ts';
import type { StoredReply } from '../reply-ports.ts';

/** A record that an entry of an audit row changed. */
export interface IndexedSubject {
  /** The entry's number in its row, from 1. */
  readonly n: number;
  /** The blind index of the record, from `Keyring.auditSubject`. */
  readonly blind: Uint8Array;
}

/**
 * An audit row before it has its place: one or more sealed entries. The store chains the row inside the transaction of
 * the recorded changes. If the changes fail, the row is not written.
 */
export interface AuditDraft {
  readonly at: Instant;
  /** The sealed entries. Only the keyring reads them. */
  readonly sealed: Uint8Array;
  readonly subjects: readonly IndexedSubject[];
  /**
   * The reply to store in the same transaction; it shows the records in `subjects`. If its idempotency key is already
   * used, the store changes nothing and rejects with `write_conflict`.
   */
  readonly reply?: StoredReply | undefined;
  /** The blind indexes, from `Keyring.auditSubject`, of further records in the reply. */
  readonly shows?: readonly Uint8Array[] | undefined;
  /**
   * Returns 16 bytes over the row, its sequence and the link of the previous row (`NO_LINK` for the first row). A pure
   * function.
   */
  link(previous: Uint8Array, sequence: number): Uint8Array;
}

/**
 * A written row of the audit. The sequences of a chain are 1, 2, 3, … without a gap. A prune removes the first
 * ones of the root, and other chains as a whole.
 */
export interface AuditEntry {
  /** The chain of the row: a number as text. */
  readonly chain: string;
  readonly sequence: number;
  readonly at: Instant;
  readonly sealed: Uint8Array;
  readonly link: Uint8Array;
}

/** The place of an entry: the chain and the sequence of its row, and its number in the row, from 1. */
export interface AuditPlace {
  readonly chain: string;
  readonly sequence: number;
  readonly n: number;
}

/** The sequence of a row and the subjects that the index must contain for the row. */
export type IndexedPlace = Pick<AuditPlace, 'sequence'> & Pick<AuditDraft, 'subjects'>;

/** The last row of a chain. */
export interface AuditHead {
  readonly chain: string;
  /** 0 before the first row. */
  readonly sequence: number;
  readonly link: Uint8Array;
}

export type ChainEnd = AuditHead & Pick<AuditEntry, 'at'>;

/** Drafts the entries of the root chain about other chains; writes nothing. A store with one chain does not use it. */
export interface ChainRecorder {
  /** The link of this entry is the link before the first row of the chain. */
  opened(chain: string): AuditDraft;
  noted(heads: readonly AuditHead[]): AuditDraft;
  closed(head: AuditHead): AuditDraft;
}

/** A row of the audit, as the log index stores it. */
export interface LoggedRow {
  readonly sequence: number;
  /** The blind indexes of the row, without duplicates. */
  readonly blinds: readonly Uint8Array[];
}

/**
 * The part of a store that keeps the audit. It never changes an entry, and only `Maintenance.pruneAudit` removes
 * entries. The audit has one or several chains. Only entries of the same chain are in the order of their commits.
 */
export interface AuditStore {
  /** Appends rows that record no change, in this order, in one transaction. */
  appendAudit(drafts: readonly AuditDraft[]): Promise<void>;
  /**
   * Sets the recorder that drafts the entries about opened, recorded and closed chains. A store with one chain ignores
   * it.
   */
  useChainRecorder(recorder: ChainRecorder): void;
  /**
   * Resolves to at most `limit` rows of a chain with sequences above `after`, in order. After a prune, the first
   * sequence may be larger than `after` + 1. Each chain except the root has a row 0 with the link of the
   * root's entry that opened the chain.
   */
  readAudit(chain: string, after: number, limit: number): Promise<readonly AuditEntry[]>;
  auditHead(chain: string): Promise<AuditHead>;
  /** Resolves to the ends of all chains at one moment, the root first. `at` is 0 for a root without rows. */
  auditHeads(): Promise<readonly ChainEnd[]>;
  /**
   * Resolves to the last place of any of these subjects in each chain that has one. Considers the rows up to `before`.
   */
  findAudited(subjects: readonly Uint8Array[], before: number): Promise<readonly AuditPlace[]>;
  /** Resolves to the sequences of the rows for which the index lacks a subject. */
  findUnindexed(chain: string, places: readonly IndexedPlace[]): Promise<readonly number[]>;
  /** Resolves to the number of index rows for the rows of a chain up to `upTo`. */
  countAuditIndex(chain: string, upTo: number): Promise<number>;

  /** Resolves to the last sequence of a chain that the log index covers, 0 at first. Only a prune decreases it. */
  logIndexEnd(chain: string): Promise<number>;
  /**
   * Adds rows of a chain to the log index, which then covers all rows up to `end`. `from` is the end of the index when
   * the rows were read. Does nothing if the index now ends earlier. Skips rows that the index already contains, because
   * several processes may add the same rows.
   */
  indexLog(chain: string, rows: readonly LoggedRow[], from: number, end: number): Promise<void>;
  /**
   * Resolves to the sequences of at most `limit` rows of a chain before `before`, newest first. The log index or the
   * index of changes lists each of these rows for one of the subjects.
   */
  findLogged(chain: string, blinds: readonly Uint8Array[], before: number, limit: number): Promise<readonly number[]>;
  /** Resolves to the sequences of the rows for which the log index lacks a blind index. */
  findUnlogged(chain: string, rows: readonly LoggedRow[]): Promise<readonly number[]>;
  /** Resolves to the number of blind indexes that the log index contains for rows of a chain up to `upTo`. */
  countLogIndex(chain: string, upTo: number): Promise<number>;
}

/** The reads of an audit that need no log index. */
export type AuditReads = Pick<AuditStore, 'readAudit' | 'auditHeads' | 'findAudited'>;

/** The key for the links of the audit. It cannot open, seal or find anything. */
export interface AuditChainKey {
  readonly vault_id: string;
  readonly key: Uint8Array;
}
