import type { ApplicationType } from '../contract/permissions.ts';
import type { TokenType } from '../contract/token-types.ts';
import type { AuditSubject } from './audit/audit-subjects.ts';
import type { AuditChainKey, AuditDraft, AuditEntry, AuditStore } from './audit/ports.ts';
import type { InsertObstacle, InsertTokenOutcome, NewToken } from './insert-ports.ts';
import type { Maintenance } from './maintenance-ports.ts';
import type { ReplyKeys, ReplyStore } from './reply-ports.ts';
import type { FoundPage, SearchCondition, SnapshotReads, TokenScan } from './scan-ports.ts';

/** A time in milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number;

export interface Clock {
  /**
   * Returns the current time. The time never goes back, unless a test moves the clock back, which first removes expired
   * records.
   */
  now(): Instant;
  /**
   * Returns the latest trusted instant, or 0 before there is one. A forward jump of over an hour is trusted after an
   * hour. The store may remove only records that had expired by this instant.
   */
  settled(): Instant;
}

export interface Random {
  /** Returns `length` bytes from the system's cryptographic source. */
  bytes(length: number): Uint8Array;
  /** Returns a version 7 UUID (RFC 9562 §5.7). Later ids sort after earlier ones. */
  timeOrderedId(): string;
  /** Returns a version 4 UUID (RFC 9562 §5.4). */
  id(): string;
}

/**
 * The context that a sealed value is bound to. Opening the value in any other context fails. A value therefore never
 * opens after it was moved to another row, copied into another column or restored from an earlier revision, or after
 * its row's clear columns were edited.
 */
export interface SealContext {
  readonly table: 'tenant' | 'application' | 'token';
  /** The requested id, never the id of the row that was found. */
  readonly id: string;
  readonly column: string;
  readonly revision: number;
  /** The row's clear columns, in an order fixed per table. */
  readonly clear: readonly (string | number | Uint8Array | undefined)[];
}

/** The kind of value in a blind index. Each purpose has its own key in each tenant. */
export type IndexPurpose = 'fingerprint' | 'metadata' | 'search' | 'container_prefix' | 'container';

/** A key slot: the master key, wrapped under a key-encryption key of its own. Only the keyring interprets `bytes`. */
export interface SlotRecord {
  readonly slot: number;
  readonly bytes: Uint8Array;
}

/**
 * The header of a vault's file, readable while the vault is locked. The keyring creates the header, checks its `mac`
 * and reads the slots; the store keeps it.
 */
export interface VaultHeader {
  readonly vault_id: string;
  readonly format: number;
  readonly created_at: Instant;
  /** The generation of the master key; each new master key adds 1. */
  readonly generation: number;
  readonly slots: readonly SlotRecord[];
  /**
   * The keys of the first generation that must outlive its master key, sealed. Absent in the first generation. Only the
   * keyring interprets the bytes.
   */
  readonly carried?: Uint8Array | undefined;
  /** A MAC over all other members, under a key derived from the master key. */
  readonly mac: Uint8Array;
}

/** A tenant's key, wrapped under the master key. `key_id` is unique in the tenant and never reused. */
export interface WrappedKey {
  readonly key_id: number;
  readonly purpose: 'data' | 'index';
  /** The generation of the master key that wraps this key. */
  readonly generation: number;
  readonly wrapped: Uint8Array;
  readonly created_at: Instant;
}

/** The keys of an unlocked vault. */
export interface Keyring extends ReplyKeys {
  /** Returns the keyed BLAKE2b hash of an API key, 32 bytes. API keys are stored and looked up only in this form. */
  apiKeyHash(apiKey: string): Uint8Array;
  /** Creates a wrapped key for a tenant that has `keys`. The new key's id is larger than theirs. */
  createTenantKey(
    tenantId: string,
    purpose: WrappedKey['purpose'],
    keys: readonly WrappedKey[],
    now: Instant,
  ): WrappedKey;
  /** Unwraps the keys of a tenant. Throws the problem `integrity_failure` when a key does not unwrap. */
  openTenant(tenantId: string, keys: readonly WrappedKey[]): TenantKeyring;
  /**
   * Returns a 32-byte MAC of a text that the vault stores unsealed (anchor, snapshot, clock note). The MAC stays valid
   * after a change of the master key.
   */
  anchorMac(text: string): Uint8Array;
  /** Seals the text of an audit event, bound to its time. The text opens under every later master key. */
  sealAuditEvent(at: Instant, text: string): Uint8Array;
  /**
   * Returns the text of a sealed audit event. Throws the problem `integrity_failure` when the bytes or the time differ
   * from those that were sealed.
   */
  openAuditEvent(at: Instant, sealed: Uint8Array): string;
  /**
   * Returns 16 bytes that chain an audit entry to the entry before it. They stay valid after a change of the master
   * key.
   */
  auditLink(previous: Uint8Array, entry: Omit<AuditEntry, 'link'>): Uint8Array;
  /**
   * Returns 16 bytes that index a subject in the audit: equal for equal subjects and unrelated otherwise. They stay
   * valid after a change of the master key.
   */
  auditSubject(subject: AuditSubject): Uint8Array;
  /**
   * Returns a copy of the key behind `auditLink`, for another thread of this process that chains entries. The receiver
   * wipes the copy.
   */
  auditChainKey(): AuditChainKey;
  /**
   * Returns a 16-byte MAC over the remains of a deleted token. The MAC stays valid after a change of the master key.
   */
  tombstoneMac(tombstone: Omit<Tombstone, 'mac'>): Uint8Array;
  /**
   * Unlocks the vault again when another process has replaced the master key. Rejects with `vault_locked` when no
   * credential of this process opens the new one.
   */
  refresh(): Promise<void>;
  /** Wipes the key bytes. The keyring opens nothing afterwards. */
  close(): void;
}

/** One index key of a tenant, which creates blind indexes. */
export interface IndexKey {
  readonly key_id: number;
  blindIndex(purpose: IndexPurpose, value: string): Uint8Array;
  fingerprint(type: string, value: string): string;
}

/** The ids of a record's keys: one for the sealed content, one for the blind indexes. */
export interface KeyIds {
  readonly key_id: number;
  readonly index_key_id: number;
}

/** One tenant's unwrapped keys. */
export interface TenantKeyring {
  /** The newest key of each purpose. New values are sealed under these keys. */
  readonly keyIds: KeyIds;
  /** Older index keys, which still find tokens that a rotation has not reached. */
  readonly formerIndexKeys: readonly IndexKey[];
  seal(context: SealContext, plaintext: string): Uint8Array;
  /**
   * Returns the plaintext of a sealed value. Throws the problem `integrity_failure` when the bytes or any part of the
   * context differ from those that were sealed.
   */
  open(context: SealContext, sealed: Uint8Array): string;
  /** Returns 16 bytes: equal for equal values of this tenant and purpose, and unrelated otherwise. */
  blindIndex(purpose: IndexPurpose, value: string): Uint8Array;
  /** Returns the `fingerprint` that clients see (§2.1): base 58 of keyed BLAKE2b-256 (RFC 7693) over type and value. */
  fingerprint(type: string, value: string): string;
}

/** The clear columns that every record has. */
interface SealedRecord {
  readonly id: string;
  readonly created_by?: string | undefined;
  readonly created_at: Instant;
  readonly modified_by?: string | undefined;
  readonly modified_at?: Instant | undefined;
  /** The number of the revision, from 1; each change adds 1. */
  readonly revision: number;
  /** The id of the data key that seals the record. */
  readonly key_id: number;
}

export interface TenantRecord extends SealedRecord {
  readonly owner_id: string;
  /** The sealed members `{ name, settings }`. */
  readonly details: Uint8Array;
}

export interface ApplicationRecord extends SealedRecord {
  readonly tenant_id: string;
  readonly type: ApplicationType;
  readonly key_hash: Uint8Array;
  /**
   * The private application that created this expiring one. The expiring application ends with its creator (decisions
   * §6).
   */
  readonly parent_id?: string | undefined;
  readonly expires_at?: Instant | undefined;
  /** The sealed members `{ name, permissions, rules, can_create_expiring_applications? }`. */
  readonly details: Uint8Array;
}

/**
 * A token in its stored form. The columns for searching and sorting repeat a part of `clear`; opening a token compares
 * them.
 */
export interface TokenRecord extends KeyIds {
  readonly id: string;
  readonly tenant_id: string;
  readonly type: TokenType;
  readonly created_at: Instant;
  readonly expires_at?: Instant | undefined;
  /** The number of the revision, from 1; each change adds 1. */
  readonly revision: number;
  /** The last calendar month (UTC) in which the token counted as active: year × 12 + month from 0. Not sealed. */
  readonly active_month: number;
  /** The packed clear columns. Both sealed values are bound to them; a store does not read them. */
  readonly clear: Uint8Array;
  /**
   * The sealed values of masked and redacted reads, and the token's definition, which callers with write access see.
   */
  readonly presented: Uint8Array;
  /** The sealed values of revealing reads, including `data`. */
  readonly full: Uint8Array;
}

/** The columns that a read needs. */
export type PresentedToken = Omit<TokenRecord, 'type' | 'created_at' | 'revision' | keyof KeyIds>;

/**
 * The blind indexes of a token, for searches. Callers pass them with a record, because the store cannot open a record
 * to derive them.
 */
export interface TokenIndexes {
  readonly fingerprint: Uint8Array;
  /**
   * The blind indexes of the containers and their prefixes, in order of depth. Absent when the token has no containers.
   */
  readonly containers?: readonly Uint8Array[] | undefined;
  /**
   * The blind indexes of all other purposes, without duplicates. Each purpose has its own key, so indexes of different
   * purposes never collide.
   */
  readonly others: readonly Uint8Array[];
  /**
   * The fingerprint under older index keys. The store also looks for duplicates under these indexes, but does not store
   * them.
   */
  readonly former?: readonly Uint8Array[] | undefined;
}

/** One condition on the tokens to find. */
export type TokenCondition =
  | { readonly id_in: readonly string[] }
  | { readonly id_prefix: string }
  | { readonly type_in: readonly TokenType[] }
  /** The token has at least one of these blind indexes. */
  | { readonly index_in: readonly Uint8Array[] }
  | SearchCondition;

export interface TokenFilter {
  readonly tenant_id: string;
  /** All must hold: the conditions of the query. */
  readonly all: readonly TokenCondition[];
  /**
   * The caller's visibility: all conditions of at least one list must hold. Absent: every token is visible; empty:
   * none.
   */
  readonly visible?: readonly (readonly TokenCondition[])[] | undefined;
}

/** A filter for applications. All members must match. */
export interface ApplicationFilter {
  readonly tenant_id: string;
  readonly ids?: readonly string[] | undefined;
  readonly types?: readonly ApplicationType[] | undefined;
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

/** The remains of a deleted token, for the audit (§3). The token's id is never reused. */
export interface Tombstone {
  readonly tenant_id: string;
  readonly id: string;
  readonly type: TokenType;
  readonly created_by: string;
  readonly created_at: Instant;
  readonly deleted_by?: string | undefined;
  readonly deleted_at: Instant;
  /** A MAC over all other members, because no key of the tenant seals a tombstone. */
  readonly mac: Uint8Array;
}

/** An expired token that is being removed: its tombstone and its audit entry. */
export interface RecordedExpiry {
  readonly tombstone: Tombstone;
  readonly audit: AuditDraft;
}

/** The part of removing expired records that needs keys. Its methods are pure functions of their arguments. */
export interface ExpiryRecorder {
  recordExpiry(token: TokenRecord, deletedAt: Instant): RecordedExpiry;
  /**
   * Returns the audit entry of a removal. `removed` holds the ids of the expired application and of the applications
   * that ended with it.
   */
  recordRemoval(tenantId: string, removed: readonly string[]): AuditDraft;
}

/** A tenant with its keys, read at the same moment. */
export interface TenantWithKeys {
  readonly tenant: TenantRecord;
  readonly keys: readonly WrappedKey[];
}

/** The records for authentication, read at the same moment. */
export interface Authority extends TenantWithKeys {
  readonly application: ApplicationRecord;
}

/** The figures of the usage report (§2.8); expired tokens are not counted. */
export interface TenantUsage {
  readonly types: readonly {
    readonly type: TokenType;
    readonly count: number;
    readonly last_created_at?: Instant | undefined;
  }[];
  /** The number of tokens counted as active in the requested month, including deleted ones. */
  readonly active: number;
}

/**
 * The place of all records. Each method is atomic and, if it writes, durable when it resolves. The store knows no
 * transactions, callers, permissions or plaintext. Updates carry the revision that they read (compare-and-swap), so two
 * processes on one store are safe without a lock held across an `await`. A change is written together with its `audit`
 * entry, or not at all; without a change there is no entry. `now` decides what has expired: readers never see an
 * expired record. Rejects with the problems `vault_busy`, `no_space`, `integrity_failure` and `vault_moved`. Rejects
 * with `write_conflict` for a record that is not sealed under its tenant's newest keys; the caller must then read the
 * keys again.
 */
export interface Store extends Maintenance, AuditStore, ReplyStore, TokenScan {
  /**
   * Runs `query` synchronously on one snapshot and returns its result. Returns undefined while the store is busy.
   * Absent in stores without synchronous reads.
   */
  readNow?<T>(query: (reads: SnapshotReads) => T): T | undefined;
  /**
   * Resolves to a version that changes whenever a tenant, an application or a key may have changed, in this process or
   * another.
   */
  authorityVersion(): Promise<string>;
  findAuthority(keyHash: Uint8Array, now: Instant): Promise<Authority | undefined>;

  /** Rejects with `vault_busy` when the store cannot answer; `/readyz` uses it. */
  ping(): Promise<void>;

  insertTenant(
    tenant: TenantRecord,
    keys: readonly WrappedKey[],
    application: ApplicationRecord,
    audit: AuditDraft,
  ): Promise<void>;
  findTenant(id: string): Promise<TenantWithKeys | undefined>;
  /** Resolves to all tenants, oldest first. */
  listTenants(): Promise<readonly TenantWithKeys[]>;

  /**
   * Resolves to whether it replaced the tenant; false when the tenant no longer exists or is no longer at
   * `expectedRevision`. `audit` is absent when only the keys of the record change.
   */
  replaceTenant(tenant: TenantRecord, expectedRevision: number, audit: AuditDraft | undefined): Promise<boolean>;
  /**
   * Removes a tenant with its keys, applications, tokens, indexes, tombstones, stored replies and counters; none of
   * their bytes stay in the store.
   */
  deleteTenant(id: string, audit: AuditDraft): Promise<boolean>;
  usage(tenantId: string, month: number, now: Instant): Promise<TenantUsage>;

  insertApplication(application: ApplicationRecord, audit: AuditDraft): Promise<void>;
  findApplication(tenantId: string, id: string, now: Instant): Promise<ApplicationRecord | undefined>;
  /** Resolves to a page, newest first: `created_at` descending, then `id` ascending. */
  findApplications(filter: ApplicationFilter, page: PageRequest, now: Instant): Promise<PageOf<ApplicationRecord>>;
  /**
   * Resolves to whether it replaced the application; false when the application no longer exists or is no longer at
   * `expectedRevision`. `audit` is absent when only the keys of the record change.
   */
  replaceApplication(
    application: ApplicationRecord,
    expectedRevision: number,
    audit: AuditDraft | undefined,
  ): Promise<boolean>;
  /**
   * Removes an application, the expiring applications that it created and their stored replies, and empties the stored
   * replies that show one of them. `audit` receives the ids of all removed applications, first `id`.
   */
  deleteApplication(
    tenantId: string,
    id: string,
    expectedRevision: number,
    audit: (removed: readonly string[]) => AuditDraft,
  ): Promise<boolean>;

  insertToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    options: { readonly deduplicate: boolean; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<InsertTokenOutcome>;
  /**
   * Inserts all tokens, in order, and resolves to an empty list. Resolves to the obstacles if there are any, and then
   * inserts no token.
   */
  insertTokens(tokens: readonly NewToken[], now: Instant, audit: AuditDraft): Promise<readonly InsertObstacle[]>;
  findToken(tenantId: string, id: string, now: Instant): Promise<TokenRecord | undefined>;
  /** Resolves to the columns of a token that a read needs. */
  findPresentedToken(tenantId: string, id: string, now: Instant): Promise<PresentedToken | undefined>;
  /** Resolves to a page, newest first: `created_at` descending, then `id` ascending. */
  findTokens(filter: TokenFilter, page: PageRequest, now: Instant): Promise<FoundPage>;
  /** Resolves to the oldest live token with this fingerprint index, other than `exceptId`. */
  findDuplicate(
    tenantId: string,
    fingerprint: Uint8Array,
    exceptId: string,
    now: Instant,
  ): Promise<TokenRecord | undefined>;
  /**
   * Replaces a token and its indexes. Resolves to false when the token no longer exists, has expired or is no longer at
   * `expected.revision`.
   */
  replaceToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    expected: { readonly revision: number; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<boolean>;
  /**
   * Removes a token and leaves its tombstone. Overwrites the sealed values and the stored replies that show the token.
   * Resolves to false when the token no longer exists or is no longer at `expectedRevision`.
   */
  deleteToken(tombstone: Tombstone, expectedRevision: number, audit: AuditDraft): Promise<boolean>;

  /** Counts the tokens as active in `month`, each token once a month. Ignores tokens that no longer exist. */
  markActive(tenantId: string, ids: readonly string[], month: number): Promise<void>;
  /**
   * Removes at most `limit` tokens and applications whose `expires_at` is at or before `now`; tokens leave a tombstone
   * without `deleted_by`. Resolves to the number of removed records.
   */
  removeExpired(now: Instant, limit: number, expiryRecorder: ExpiryRecorder): Promise<number>;
  /** Removes at most `limit` stored replies that are 24 hours old. Resolves to the number of removed replies. */
  removeOldReplies(now: Instant, limit: number): Promise<number>;
  /**
   * Resolves to true for one caller every `interval` milliseconds, among all processes; that caller removes the expired
   * records. Ignores an earlier claim that lies `interval` or more ahead of `now`, because the clock was wrong then.
   */
  claimSweep(now: Instant, interval: number): Promise<boolean>;
  /** Resolves to the clock note, which carries a MAC; to an empty text in a new store. */
  clockNote(): Promise<string>;
  /** Replaces the clock note. Resolves to false when the stored note is no longer `expected`. */
  replaceClockNote(note: string, expected: string): Promise<boolean>;
  /** Resolves to the latest expiry in the store at or before `now`; to 0 when there is none. */
  latestExpiry(now: Instant): Promise<Instant>;
  /** Resolves to the earliest expiry in the store after `now`; to undefined when there is none. */
  nextExpiry(now: Instant): Promise<Instant | undefined>;

  /** Finishes the writes in progress, then closes the store's files. */
  close(): Promise<void>;
}
