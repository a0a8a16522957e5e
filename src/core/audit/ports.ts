import type { Instant } from '../ports.ts';

/**
 * An entry of the audit before it has its place: sealed already, chained by the store inside the transaction of the change
 * that it tells of. Without that change it is not written.
 */
export interface AuditDraft {
  readonly at: Instant;
  /** The event. The keyring's affair. */
  readonly sealed: Uint8Array;
  /** The blind indexes of the records that it changed: `Keyring.auditSubject`. */
  readonly subjects: readonly Uint8Array[];
  /** 16 bytes over the entry, its place and the link of the entry before it: `NO_LINK` for the first. A pure function. */
  link(previous: Uint8Array, sequence: number): Uint8Array;
}

/** An entry in its place. Places are 1, 2, 3, … without a gap. */
export interface AuditEntry {
  readonly sequence: number;
  readonly at: Instant;
  readonly sealed: Uint8Array;
  readonly link: Uint8Array;
}

/** An entry and the subjects that the index must have for it. */
export type IndexedPlace = Pick<AuditEntry, 'sequence'> & Pick<AuditDraft, 'subjects'>;

/** Where the chain has come to. */
export interface AuditHead {
  /** 0 before the first entry. */
  readonly sequence: number;
  readonly link: Uint8Array;
}

/** The part of a store that keeps the audit. Nothing in it changes an entry or takes one away. */
export interface AuditStore {
  /** Writes them in this order, in one transaction: for what changed nothing else. */
  appendAudit(drafts: readonly AuditDraft[]): Promise<void>;
  /** At most `limit` entries behind the place `after`, in order. */
  readAudit(after: number, limit: number): Promise<readonly AuditEntry[]>;
  auditHead(): Promise<AuditHead>;
  /** Returns the place of the last entry, at or before `before`, with one of these subjects. */
  findAudited(subjects: readonly Uint8Array[], before: number): Promise<number | undefined>;
  /** Returns the places for which the index lacks a subject. */
  findUnindexed(places: readonly IndexedPlace[]): Promise<readonly number[]>;
  /** Counts the index rows of the places up to `upTo`. */
  countAuditIndex(upTo: number): Promise<number>;
}

/** What links of the audit are made with: nothing is opened, sealed or found with it. */
export interface AuditChainKey {
  readonly vault_id: string;
  readonly key: Uint8Array;
}
