import type { ApplicationType } from '../contract/permissions.ts';
import type { TokenType } from '../contract/token-types.ts';
import type { AuditSubject } from './audit/audit-subjects.ts';
import type { AuditChainKey, AuditDraft, AuditEntry, AuditStore } from './audit/ports.ts';
import type { InsertObstacle, InsertTokenOutcome, NewToken } from './insert-ports.ts';
import type { Maintenance } from './maintenance-ports.ts';
import type { ReplyKeys, ReplyStore } from './reply-ports.ts';
import type { FoundPage, SearchCondition, SnapshotReads, TokenScan } from './scan-ports.ts';

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number;

export interface Clock {
  /** Never goes back, unless a test moves the clock back, which first removes expired records. */
  now(): Instant;
  /**
   * The latest instant that is beyond doubt; 0 before there is one. A forward jump of over an hour counts after an hour.
   * Only records that had expired by this instant may be removed.
   */
  settled(): Instant;
}

export interface Random {
  /** `length` bytes from the system's cryptographic source. */
  bytes(length: number): Uint8Array;
  /** A version 7 UUID (RFC 9562 §5.7): later calls sort after earlier ones. */
  timeOrderedId(): string;
  /** A version 4 UUID (RFC 9562 §5.4). */
  id(): string;
}

/**
 * What a sealed value is bound to. Opening it with any other context fails, so a value that was moved to another row,
 * copied into another column, put back from an earlier revision or whose clear columns were edited never opens.
 */
export interface SealContext {
  readonly table: 'tenant' | 'application' | 'token';
  /** The id that was asked for, never the one that was found. */
  readonly id: string;
  readonly column: string;
  readonly revision: number;
  /** The row's clear columns, in an order fixed per table. */
  readonly clear: readonly (string | number | Uint8Array | undefined)[];
}

/** The subject of a blind index; each purpose has its own key in each tenant. */
export type IndexPurpose = 'fingerprint' | 'metadata' | 'search' | 'container_prefix' | 'container';

/** A key slot: the master key, wrapped under its own key-encryption key. Only the keyring interprets `bytes`. */
export interface SlotRecord {
  readonly slot: number;
  readonly bytes: Uint8Array;
}

/**
 * The header of a vault's file, readable while it is locked. The keyring makes it, checks its `mac` and reads the
 * slots; the store keeps it.
 */
export interface VaultHeader {
  readonly vault_id: string;
  readonly format: number;
  readonly created_at: Instant;
  /** The generation of the master key; each new one adds 1. */
  readonly generation: number;
  readonly slots: readonly SlotRecord[];
  /** From the second generation on: the first one's keys that must outlive it, sealed. The keyring's affair. */
  readonly carried?: Uint8Array | undefined;
  /** Over everything above, under a key derived from the master key. */
  readonly mac: Uint8Array;
}

/** A tenant's key under the master key. `key_id` is unique in the tenant and never used again. */
export interface WrappedKey {
  readonly key_id: number;
  readonly purpose: 'data' | 'index';
  /** The generation of the master key that wraps it. */
  readonly generation: number;
  readonly wrapped: Uint8Array;
  readonly created_at: Instant;
}

/** The keys of an unlocked vault. */
export interface Keyring extends ReplyKeys {
  /** 32 bytes: keyed BLAKE2b. API keys are stored, and looked up, only in this form. */
  apiKeyHash(apiKey: string): Uint8Array;
  /** A new key, wrapped, for a tenant that has `keys`; its id is larger than theirs. */
  createTenantKey(
    tenantId: string,
    purpose: WrappedKey['purpose'],
    keys: readonly WrappedKey[],
    now: Instant,
  ): WrappedKey;
  /** Throws the problem `integrity_failure` when a key does not unwrap. */
  openTenant(tenantId: string, keys: readonly WrappedKey[]): TenantKeyring;
  /** Returns a MAC of 32 bytes of an unsealed text (anchor, snapshot, clock note). Valid after a change of the master key. */
  anchorMac(text: string): Uint8Array;
  /** Seals the text of an event, bound to its time. Opens under every later master key. */
  sealAuditEvent(at: Instant, text: string): Uint8Array;
  /** Throws the problem `integrity_failure` when the bytes or the time are not what was sealed. */
  openAuditEvent(at: Instant, sealed: Uint8Array): string;
  /** 16 bytes that chain an entry to the one before it. Outlives the master key. */
  auditLink(previous: Uint8Array, entry: Omit<AuditEntry, 'chain' | 'link'>): Uint8Array;
  /** 16 bytes, equal for equal subjects and unrelated otherwise: the index of the audit. Outlives the master key. */
  auditSubject(subject: AuditSubject): Uint8Array;
  /** A copy of what `auditLink` is made with, for another thread of this process that chains entries. Who has it wipes it. */
  auditChainKey(): AuditChainKey;
  /** A MAC of 16 bytes over the remains of a deleted token. Outlives the master key. */
  tombstoneMac(tombstone: Omit<Tombstone, 'mac'>): Uint8Array;
  /** Unlocks anew when another process replaced the master key. Throws `vault_locked` when nothing here opens the new one. */
  refresh(): Promise<void>;
  /** Wipes the key bytes; nothing opens afterwards. */
  close(): void;
}

/** The blind indexes that one index key of a tenant makes. */
export interface IndexKey {
  readonly key_id: number;
  blindIndex(purpose: IndexPurpose, value: string): Uint8Array;
  fingerprint(type: string, value: string): string;
}

/** The keys of a record: for its sealed content and for its blind indexes. */
export interface KeyIds {
  readonly key_id: number;
  readonly index_key_id: number;
}

/** One tenant's unwrapped keys. */
export interface TenantKeyring {
  /** The newest key of each purpose: new values are sealed under it. */
  readonly keyIds: KeyIds;
  /** Older index keys: tokens that a rotation has not come to are still found under them. */
  readonly formerIndexKeys: readonly IndexKey[];
  seal(context: SealContext, plaintext: string): Uint8Array;
  /** Throws the problem `integrity_failure` when the bytes, or anything in the context, are not what was sealed. */
  open(context: SealContext, sealed: Uint8Array): string;
  /** 16 bytes, equal for equal values of this tenant and purpose and unrelated otherwise. */
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
  /** From 1, one more with each change. */
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
  readonly key_hash: Uint8Array;
  /** The private application that created this expiring one: it ends with it (decisions §6). */
  readonly parent_id?: string | undefined;
  readonly expires_at?: Instant | undefined;
  /** Sealed: `{ name, permissions, rules, can_create_expiring_applications? }`. */
  readonly details: Uint8Array;
}

/** A token as a store keeps it. The columns for searching and sorting repeat a part of `clear`; opening compares them. */
export interface TokenRecord extends KeyIds {
  readonly id: string;
  readonly tenant_id: string;
  readonly type: TokenType;
  readonly created_at: Instant;
  readonly expires_at?: Instant | undefined;
  /** From 1, one more with each change. */
  readonly revision: number;
  /** The last calendar month (UTC) in which it counted as active: year × 12 + month from 0. Bookkeeping, not sealed. */
  readonly active_month: number;
  /** The packed clear columns, to which both sealed values are bound; a store does not read them. */
  readonly clear: Uint8Array;
  /** Sealed: the values of masked and redacted reads, and the definition, which writers see. */
  readonly presented: Uint8Array;
  /** Sealed: the values of revealing reads, including `data`. */
  readonly full: Uint8Array;
}

/** The columns that a read needs. */
export type PresentedToken = Omit<TokenRecord, 'type' | 'created_at' | 'revision' | keyof KeyIds>;

/** The blind indexes that a token is found by. Never derived from a record: the store cannot open one. */
export interface TokenIndexes {
  readonly fingerprint: Uint8Array;
  /** The blind indexes of the containers and their prefixes, in order of depth. Absent: none. */
  readonly containers?: readonly Uint8Array[] | undefined;
  /** All other purposes together, without repetition: the purposes' keys keep them apart. */
  readonly others: readonly Uint8Array[];
  /** The fingerprint under older index keys: duplicates are looked for under them too; they are not stored. */
  readonly former?: readonly Uint8Array[] | undefined;
}

/** One thing that must hold of a token for it to be found. */
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
  /** At least one of the lists must hold completely: the caller's visibility. Absent: every token; empty: none. */
  readonly visible?: readonly (readonly TokenCondition[])[] | undefined;
}

/** All members must hold. */
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
  /** How many there are on all pages. */
  readonly total: number;
}

/** The remains of a deleted token, for audit (§3). Its id is never given again. */
export interface Tombstone {
  readonly tenant_id: string;
  readonly id: string;
  readonly type: TokenType;
  readonly created_by: string;
  readonly created_at: Instant;
  readonly deleted_by?: string | undefined;
  readonly deleted_at: Instant;
  /** Over everything above, since no key of the tenant seals it. */
  readonly mac: Uint8Array;
}

/** An expired token that is being removed: its tombstone and its audit entry. */
export interface RecordedExpiry {
  readonly tombstone: Tombstone;
  readonly audit: AuditDraft;
}

/** The part of removing expired records that needs keys. Pure functions of their arguments. */
export interface ExpiryRecorder {
  recordExpiry(token: TokenRecord, deletedAt: Instant): RecordedExpiry;
  /** `removed` is the expired application and those that ended with it. */
  recordRemoval(tenantId: string, removed: readonly string[]): AuditDraft;
}

/** A tenant with its keys, read in one go. */
export interface TenantWithKeys {
  readonly tenant: TenantRecord;
  readonly keys: readonly WrappedKey[];
}

/** The records for authentication, read in one go. */
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
  /** Tokens counted as active in the month that was asked for, deleted ones included. */
  readonly active: number;
}

/**
 * Where records are kept. Each method is atomic and, if it writes, durable when it resolves. There is no transaction, no
 * caller, no permission and no plaintext here. Updates carry the revision that they read (compare-and-swap), so that two
 * processes on one store are safe without a lock held across an `await`. A change is written together with its `audit` entry, or
 * not at all; without a change there is no entry. `now` decides what has expired: to every reader an expired record does not
 * exist. Throws the problems `vault_busy`, `no_space`, `integrity_failure`, `vault_moved`; and `write_conflict` for a record
 * that is not under its tenant's newest keys: its writer must read the keys anew.
 */
export interface Store extends Maintenance, AuditStore, ReplyStore, TokenScan {
  /** Runs `query` at once on one snapshot. Returns undefined while the store must be waited for. Absent without such reads. */
  readNow?<T>(query: (reads: SnapshotReads) => T): T | undefined;
  /** Changes whenever a tenant, an application or a key may have changed, in this process or another. */
  authorityVersion(): Promise<string>;
  findAuthority(keyHash: Uint8Array, now: Instant): Promise<Authority | undefined>;

  /** Throws `vault_busy` when the store cannot answer; used by `/readyz`. */
  ping(): Promise<void>;

  insertTenant(
    tenant: TenantRecord,
    keys: readonly WrappedKey[],
    application: ApplicationRecord,
    audit: AuditDraft,
  ): Promise<void>;
  findTenant(id: string): Promise<TenantWithKeys | undefined>;
  /** Oldest first. */
  listTenants(): Promise<readonly TenantWithKeys[]>;

  /** False when the tenant is gone or no longer at `expectedRevision`. `audit` is absent for a record that is only sealed anew. */
  replaceTenant(tenant: TenantRecord, expectedRevision: number, audit: AuditDraft | undefined): Promise<boolean>;
  /** Removes its keys, applications, tokens, indexes, tombstones, stored replies and counters; nothing of them stays in the store. */
  deleteTenant(id: string, audit: AuditDraft): Promise<boolean>;
  usage(tenantId: string, month: number, now: Instant): Promise<TenantUsage>;

  insertApplication(application: ApplicationRecord, audit: AuditDraft): Promise<void>;
  findApplication(tenantId: string, id: string, now: Instant): Promise<ApplicationRecord | undefined>;
  /** Newest first: `created_at` descending, then `id` ascending. */
  findApplications(filter: ApplicationFilter, page: PageRequest, now: Instant): Promise<PageOf<ApplicationRecord>>;
  /** False when the application is gone or no longer at `expectedRevision`. `audit` is absent for a record that is only sealed anew. */
  replaceApplication(
    application: ApplicationRecord,
    expectedRevision: number,
    audit: AuditDraft | undefined,
  ): Promise<boolean>;
  /** Removes the expiring applications that it created and their stored replies, too, and empties replies that show one; `audit` is told of all that are removed, itself first. */
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
  /** Inserts all, in order. Inserts none when it resolves to obstacles. */
  insertTokens(tokens: readonly NewToken[], now: Instant, audit: AuditDraft): Promise<readonly InsertObstacle[]>;
  findToken(tenantId: string, id: string, now: Instant): Promise<TokenRecord | undefined>;
  /** The same for a read, which needs less of it. */
  findPresentedToken(tenantId: string, id: string, now: Instant): Promise<PresentedToken | undefined>;
  /** Newest first: `created_at` descending, then `id` ascending. */
  findTokens(filter: TokenFilter, page: PageRequest, now: Instant): Promise<FoundPage>;
  /** The oldest live token with this fingerprint index, other than `exceptId`. */
  findDuplicate(
    tenantId: string,
    fingerprint: Uint8Array,
    exceptId: string,
    now: Instant,
  ): Promise<TokenRecord | undefined>;
  /** Puts the record and its indexes in place of the old. False when the token is gone, expired or no longer at `expected.revision`. */
  replaceToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    expected: { readonly revision: number; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<boolean>;
  /** Overwrites the sealed values and the replies that show the token, leaves the tombstone. False when the token is gone or no longer at `expectedRevision`. */
  deleteToken(tombstone: Tombstone, expectedRevision: number, audit: AuditDraft): Promise<boolean>;

  /** Counts the tokens as active in `month`, each once a month. Tokens that are gone are passed over. */
  markActive(tenantId: string, ids: readonly string[], month: number): Promise<void>;
  /**
   * Removes at most `limit` tokens and applications whose `expires_at` is at or before `now`; tokens leave a tombstone
   * without `deleted_by`. Resolves to how many it removed.
   */
  removeExpired(now: Instant, limit: number, expiryRecorder: ExpiryRecorder): Promise<number>;
  /** Removes at most `limit` stored replies that are 24 hours old. Resolves to how many it removed. */
  removeOldReplies(now: Instant, limit: number): Promise<number>;
  /**
   * Returns true for one caller in `interval` milliseconds, of all processes together: it removes what has expired. Ignores
   * a claim from `interval` or more ahead, since the clock was wrong then.
   */
  claimSweep(now: Instant, interval: number): Promise<boolean>;
  /** The vault's note on time, with a MAC; empty in a new store. */
  clockNote(): Promise<string>;
  /** Returns false when the note is no longer `expected`. */
  replaceClockNote(note: string, expected: string): Promise<boolean>;
  /** Returns the latest expiry in the store at or before `now`; 0 when there is none. */
  latestExpiry(now: Instant): Promise<Instant>;
  /** Returns the earliest expiry in the store after `now`; undefined when there is none. */
  nextExpiry(now: Instant): Promise<Instant | undefined>;

  /** Finishes the writes under way, then releases what the store holds open. */
  close(): Promise<void>;
}
