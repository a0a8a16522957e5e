import type { ApplicationType } from '../contract/permissions.ts';
import type { TokenType } from '../contract/token-types.ts';
import type { ApplicationKeyRecord, ApplicationStore } from './application-ports.ts';
import type { AuditDraft, AuditEntry, AuditStore, AuditSubject, AuthorityDraft, RecordChange } from './audit/ports.ts';
import type { InsertObstacle, InsertTokenOutcome, NewToken } from './insert-ports.ts';
import type { KeyHolderStore } from './key-holder-ports.ts';
import type { ReplyStore } from './reply-ports.ts';
import type { FoundPage, SearchCondition, SnapshotReads, TokenScan } from './scan-ports.ts';

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number;

export interface Random {
  /** Returns `length` bytes from the system's cryptographic source. */
  bytes(length: number): Uint8Array;
  /** Returns a version 7 UUID (RFC 9562 §5.7). Later ids sort after earlier ones. */
  timeOrderedId(): string;
  /** Returns a version 4 UUID (RFC 9562 §5.4). */
  id(): string;
}

/**
 * The context to which a sealed value is bound. The value opens only with this context. It therefore does not open
 * after it was moved to another row or column or restored from an earlier revision, or after the row's clear columns
 * were edited.
 */
export interface SealContext {
  readonly table: 'tenant' | 'application' | 'application_key' | 'token' | 'reply';
  /** The requested id, never the id in the found row. */
  readonly id: string;
  readonly column: string;
  readonly revision: number;
  /** The row's clear columns, in a fixed order for each table. */
  readonly clear: readonly (string | number | Uint8Array | undefined)[];
}

/** The purpose of a blind index. Each purpose has its own key in each tenant. */
export type IndexPurpose = 'fingerprint' | 'metadata' | 'search' | 'container_prefix' | 'container';

/** A key slot: the master key, wrapped under its own key-encryption key. Only the keyring interprets `bytes`. */
export interface SlotRecord {
  readonly slot: number;
  readonly bytes: Uint8Array;
}

/** The header of a vault, readable without its key. The keyring creates and checks it; the store only keeps it. */
export interface VaultHeader {
  readonly vault_id: string;
  readonly format: number;
  readonly created_at: Instant;
  /** The generation of the master key. Each new master key adds 1. */
  readonly generation: number;
  readonly slots: readonly SlotRecord[];
  /** The keys that later master keys take over from the first one, sealed. Absent in the first generation. */
  readonly carried?: Uint8Array | undefined;
  /** The MAC of all members above, under a key derived from the master key. */
  readonly mac: Uint8Array;
}

/** A tenant's key, wrapped under the master key. `key_id` is unique in the tenant and never reused. */
export interface WrappedKey {
  readonly key_id: number;
  readonly purpose: 'data' | 'index';
  /** The generation of the master key that wraps it. */
  readonly generation: number;
  readonly wrapped: Uint8Array;
  readonly created_at: Instant;
}

/** A record of authority at a revision. */
export interface RecordState extends Omit<RecordChange, 'from' | 'to'> {
  readonly revision: number;
}

/** The keys of an unlocked vault. */
export interface Keyring {
  /** Returns the keyed BLAKE2b hash of an API key, 32 bytes. The store keeps and finds API keys only in this form. */
  apiKeyHash(apiKey: string): Uint8Array;
  /** Returns a new wrapped key for a tenant with `keys`. Its id is larger than theirs. */
  createTenantKey(
    tenantId: string,
    purpose: WrappedKey['purpose'],
    keys: readonly WrappedKey[],
    now: Instant,
  ): WrappedKey;
  /** Unwraps a tenant's keys. Throws the problem `integrity_failure` when a key does not unwrap. */
  openTenant(tenantId: string, keys: readonly WrappedKey[]): TenantKeyring;
  /** Returns the MAC of an unsealed text (anchor, clock note), 32 bytes. Outlives the master key. */
  anchorMac(text: string): Uint8Array;
  /** Seals the text of an event, bound to its time. Every later master key opens it, too. */
  sealAuditEvent(at: Instant, text: string): Uint8Array;
  /** Returns the text of an event. Throws the problem `integrity_failure` for altered bytes or another time. */
  openAuditEvent(at: Instant, sealed: Uint8Array): string;
  /** Seals the text of the base of the audit, bound to all other columns of its row. Outlives the master key. */
  sealAuditBase(row: Omit<AuditEntry, 'sealed'>, text: string): Uint8Array;
  /** Returns the text of a base. Throws the problem `integrity_failure` for any other row. */
  openAuditBase(row: AuditEntry): string;
  /** Seals the text of a list's cursor, bound to its tenant. Outlives the master key and the tenant's keys. */
  sealCursor(tenantId: string, text: string): Uint8Array;
  /** Returns the text of a cursor. Throws the problem `integrity_failure` for other bytes or another tenant. */
  openCursor(tenantId: string, sealed: Uint8Array): string;
  /** Returns whether sealed bytes are those of a base. Checks nothing. */
  isAuditBase(sealed: Uint8Array): boolean;
  /** Returns the keyed hash of a record's revision, 128 bits. Digests are sums of these. Outlives the master key. */
  recordHash(record: RecordState): bigint;
  /** Returns the blind index of an audited record, 16 bytes. Equal only for equal subjects. Outlives the master key. */
  auditSubject(subject: AuditSubject): Uint8Array;
  /** Returns the MAC of a tombstone, 16 bytes. Outlives the master key. */
  tombstoneMac(tombstone: Omit<Tombstone, 'mac'>): Uint8Array;
  /** Returns a keyed hash of 32 bytes over these fields, to find and compare stored replies. Outlives the master key. */
  replyHash(...fields: readonly string[]): Uint8Array;
  /** Unlocks the vault again after a change of the master key. Rejects with `vault_locked` if it cannot. */
  refresh(): Promise<void>;
  /** Wipes the key bytes. The keyring then opens nothing. */
  close(): void;
}

/**
 * The origin of a fingerprinted text: the canonical JSON text of `data`, or the result of an expression. Texts from
 * different sources have different fingerprints (decisions §7).
 */
export type FingerprintSource = 'data' | 'expression';

/** An index key of a tenant. */
export interface IndexKey {
  readonly key_id: number;
  blindIndex(purpose: IndexPurpose, value: string): Uint8Array;
  fingerprint(type: string, source: FingerprintSource, text: string): string;
}

/** The ids of a record's keys: the data key of its sealed values and the index key of its blind indexes. */
export interface KeyIds {
  readonly key_id: number;
  readonly index_key_id: number;
}

/** One tenant's unwrapped keys. */
export interface TenantKeyring {
  /** The newest key of each purpose, which new values use. */
  readonly keyIds: KeyIds;
  /** Older index keys. Tokens that a rotation has not reached yet are found under them. */
  readonly formerIndexKeys: readonly IndexKey[];
  seal(context: SealContext, plaintext: string): Uint8Array;
  /** Returns a sealed text. Throws the problem `integrity_failure` for altered bytes or another context. */
  open(context: SealContext, sealed: Uint8Array): string;
  /** Returns 16 bytes that are equal only for equal values of the same tenant and purpose. */
  blindIndex(purpose: IndexPurpose, value: string): Uint8Array;
  /**
   * Returns the `fingerprint` that clients see (§2.1): base 58 of keyed BLAKE2b-256 (RFC 7693) over type, source and
   * text.
   */
  fingerprint(type: string, source: FingerprintSource, text: string): string;
}

/** The clear columns that every record has. */
interface SealedRecord {
  readonly id: string;
  readonly created_by?: string | undefined;
  readonly created_at: Instant;
  readonly modified_by?: string | undefined;
  readonly modified_at?: Instant | undefined;
  /** The number of the revision, from 1. Each change adds 1. */
  readonly revision: number;
  /** The id of the data key that seals the record. */
  readonly key_id: number;
}

export interface TenantRecord extends SealedRecord {
  readonly owner_id: string;
  /** Sealed: `{ name, settings }`. */
  readonly details: Uint8Array;
}

export interface ApplicationRecord extends SealedRecord {
  readonly tenant_id: string;
  readonly type: ApplicationType;
  /** The application that created this expiring one, and the key that it used. It ends with both (decisions §6). */
  readonly parent_id?: string | undefined;
  readonly parent_key_id?: string | undefined;
  /** The number of API keys that it has had. Not sealed: a new key does not change the application. */
  readonly key_version: number;
  readonly expires_at?: Instant | undefined;
  /** Sealed: `{ name, permissions, rules, can_create_expiring_applications? }`. */
  readonly details: Uint8Array;
}

/** A token as a store keeps it. The columns for search and order repeat parts of `clear`; opening compares them. */
export interface TokenRecord extends KeyIds {
  readonly id: string;
  readonly tenant_id: string;
  readonly type: TokenType;
  readonly created_at: Instant;
  readonly expires_at?: Instant | undefined;
  /** The number of the revision, from 1. Each change adds 1. */
  readonly revision: number;
  /** The last calendar month (UTC) in which the token was active: year × 12 + month from 0. Not sealed. */
  readonly active_month: number;
  /** The packed clear columns, to which both sealed values are bound. */
  readonly clear: Uint8Array;
  /** Sealed: the values for masked and redacted reads, and the definition for callers with write access. */
  readonly presented: Uint8Array;
  /** Sealed: the values for revealing reads, including `data`. */
  readonly full: Uint8Array;
}

/** The columns that a read needs. */
export type PresentedToken = Omit<TokenRecord, 'type' | 'created_at' | 'revision' | keyof KeyIds>;

/** The blind indexes of a token. Each write includes them, because a store cannot derive them from sealed values. */
export interface TokenIndexes {
  readonly fingerprint: Uint8Array;
  /** The blind indexes of the containers and their prefixes, in order of depth. Absent without containers. */
  readonly containers?: readonly Uint8Array[] | undefined;
  /** The blind indexes of all other purposes, without duplicates. Each purpose has its own key. */
  readonly others: readonly Uint8Array[];
  /** The fingerprint under older index keys, for the search for duplicates. Not stored. */
  readonly former?: readonly Uint8Array[] | undefined;
}

/** A condition that a token must meet to be found. */
export type TokenCondition =
  | { readonly id_in: readonly string[] }
  | { readonly id_prefix: string }
  | { readonly type_in: readonly TokenType[] }
  /** The token has at least one of these blind indexes. */
  | { readonly index_in: readonly Uint8Array[] }
  | SearchCondition;

export interface TokenFilter {
  readonly tenant_id: string;
  /** The conditions of the query; all must hold. */
  readonly all: readonly TokenCondition[];
  /** Visibility by ids and containers: at least one list must hold completely. Absent: every token; empty: none. */
  readonly visible?: readonly (readonly TokenCondition[])[] | undefined;
}

export interface PageRequest {
  /** The number of matches to skip. */
  readonly offset: number;
  readonly limit: number;
}

export interface PageOf<T> {
  readonly records: readonly T[];
  /** The number of matches on all pages. */
  readonly total: number;
}

/** The remains of a deleted token, for the audit (§3). No later token gets its id. */
export interface Tombstone {
  readonly tenant_id: string;
  readonly id: string;
  readonly type: TokenType;
  readonly created_by: string;
  readonly created_at: Instant;
  readonly deleted_by?: string | undefined;
  readonly deleted_at: Instant;
  /** The MAC of all members above. No key of the tenant seals a tombstone. */
  readonly mac: Uint8Array;
}

/** The records that may end at their `expires_at`, by table. */
export interface ExpiringRecords {
  readonly token: TokenRecord;
  readonly application: ApplicationRecord;
  readonly application_key: ApplicationKeyRecord;
}

/** An expired row: its number in the store, and its record unless the row cannot be read. */
export interface ExpiredRow<Found> {
  readonly row: number;
  readonly record: Found | undefined;
}

/** A tenant with its keys, from one read. */
export interface TenantWithKeys {
  readonly tenant: TenantRecord;
  readonly keys: readonly WrappedKey[];
}

/** The records for authentication, from one read. */
export interface Authority extends TenantWithKeys {
  readonly application: ApplicationRecord;
  readonly key: ApplicationKeyRecord;
}

/** The figures of the usage report (§2.8), without expired tokens. */
export interface TenantUsage {
  readonly types: readonly {
    readonly type: TokenType;
    readonly count: number;
    readonly last_created_at?: Instant | undefined;
  }[];
  /** The number of tokens that were active in the requested month, including deleted ones. */
  readonly active: number;
}

/**
 * A store of records. Each method is atomic, and its writes are durable when it resolves. A store knows no callers,
 * permissions or plaintext, and offers no transactions. Updates carry the revision that they read (compare-and-swap),
 * so two processes can use one store without a lock across an `await`. A store writes a change together with its
 * `audit` row, or neither. No reader sees an expired record; `now` decides. Rejects with the problems `vault_busy`,
 * `no_space`, `integrity_failure` and `vault_moved`, and with `write_conflict` for a record under older keys of its
 * tenant: its writer must read the keys again.
 */
export interface Store extends ApplicationStore, KeyHolderStore, AuditStore, ReplyStore, TokenScan {
  /** Runs `query` synchronously on one snapshot; returns undefined while the store is busy. Some stores lack it. */
  readNow?<T>(query: (reads: SnapshotReads) => T): T | undefined;
  findAuthority(keyHash: Uint8Array, now: Instant): Promise<Authority | undefined>;

  /** Rejects with `vault_busy` when the store cannot answer. For `/readyz`. */
  ping(): Promise<void>;

  insertTenant(
    tenant: TenantRecord,
    keys: readonly WrappedKey[],
    first: { readonly application: ApplicationRecord; readonly key: ApplicationKeyRecord },
    audit: AuthorityDraft,
  ): Promise<void>;
  findTenant(id: string): Promise<TenantWithKeys | undefined>;
  /** Resolves to the ids of all tenants, oldest first. Omits only damaged ids; other damage does not matter. */
  listTenantIds(): Promise<readonly string[]>;

  /** Resolves to false when it is missing or has another revision. A rotation that reseals it has no `audit`. */
  replaceTenant(tenant: TenantRecord, expectedRevision: number, audit: AuthorityDraft | undefined): Promise<boolean>;
  /** Removes all of a tenant from the store: keys, applications, tokens, indexes, tombstones, replies, counters. */
  deleteTenant(id: string, audit: AuthorityDraft): Promise<boolean>;
  usage(tenantId: string, month: number, now: Instant): Promise<TenantUsage>;

  insertToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    options: { readonly deduplicate: boolean; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<InsertTokenOutcome>;
  /** Inserts all tokens, in order. If one cannot be inserted, inserts none and resolves to the obstacles. */
  insertTokens(tokens: readonly NewToken[], now: Instant, audit: AuditDraft): Promise<readonly InsertObstacle[]>;
  findToken(tenantId: string, id: string, now: Instant): Promise<TokenRecord | undefined>;
  /** Like `findToken`, but with only the columns that a read needs. */
  findPresentedToken(tenantId: string, id: string, now: Instant): Promise<PresentedToken | undefined>;
  /** Resolves to a page, newest first: by `created_at` descending, then by `id` ascending. */
  findTokens(filter: TokenFilter, page: PageRequest, now: Instant): Promise<FoundPage>;
  /** Resolves to the oldest live token with this blind index of its fingerprint, other than `exceptId`. */
  findDuplicate(
    tenantId: string,
    fingerprint: Uint8Array,
    exceptId: string,
    now: Instant,
  ): Promise<TokenRecord | undefined>;
  /** Replaces a token and its indexes. Resolves to false when the token is missing, expired or has another revision. */
  replaceToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    expected: { readonly revision: number; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<boolean>;
  /** Overwrites a token; keeps the tombstone. Resolves to false as above. */
  deleteToken(tombstone: Tombstone, expectedRevision: number, audit: AuditDraft): Promise<boolean>;

  /** Counts the tokens as active in `month`, each at most once a month. Ignores missing tokens. */
  markActive(tenantId: string, ids: readonly string[], month: number): Promise<void>;
  /**
   * Resolves to at most `limit` rows of a table whose `expires_at` is at or before `now`, earliest expiry first. Omits
   * the rows `skipped`. Open a record before you remove it: only its seal proves when it ends.
   */
  findExpired<Table extends keyof ExpiringRecords>(
    table: Table,
    now: Instant,
    limit: number,
    skipped: ReadonlySet<number>,
  ): Promise<readonly ExpiredRow<ExpiringRecords[Table]>[]>;
  /** Removes the rows that `deleteTenant` has left. Absent if `deleteTenant` leaves none. */
  purgeTenants?(): Promise<void>;
  /** Removes at most `limit` stored replies that are 24 hours old. Resolves to the number of removed ones. */
  removeOldReplies(now: Instant, limit: number): Promise<number>;
  /**
   * Resolves to true for one caller of all processes in `interval` milliseconds. This caller removes expired records.
   * Ignores a claim that is `interval` or more in the future, because the clock was wrong then.
   */
  claimSweep(now: Instant, interval: number): Promise<boolean>;
  /** Resolves to the vault's clock note, with its MAC; empty in a new store. */
  clockNote(): Promise<string>;
  /** Resolves to false when the stored note is not `expected`. */
  replaceClockNote(note: string, expected: string): Promise<boolean>;
  /** Resolves to the latest expiry in the store at or before `now`; 0 without one. */
  latestExpiry(now: Instant): Promise<Instant>;
  /** Resolves to the earliest expiry in the store after `now`; undefined without one. */
  nextExpiry(now: Instant): Promise<Instant | undefined>;

  /** Finishes the running writes, then closes the file or the connections. */
  close(): Promise<void>;
}
