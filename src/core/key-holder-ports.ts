import type { ApplicationKeyRecord } from './application-ports.ts';
import type { AuthorityDraft, EndedRecord } from './audit/ports.ts';
import type {
  ApplicationRecord,
  KeyIds,
  TokenIndexes,
  TokenRecord,
  Tombstone,
  VaultHeader,
  WrappedKey,
} from './ports.ts';
import type { ResealedReply, StoredReply } from './reply-ports.ts';

/**
 * A token as read (`before`) and the same token sealed under newer keys (`after`), with the same revision and contents.
 */
export interface ResealedToken {
  readonly before: TokenRecord;
  readonly after: TokenRecord;
  /** The new blind indexes. Absent when they are unchanged. */
  readonly indexes?: TokenIndexes | undefined;
}

export interface KeysOfTenant {
  readonly tenant_id: string;
  readonly keys: readonly WrappedKey[];
}

/** A difference between the file and what the vault wrote. `what` is a fixed text. */
export interface Finding {
  readonly table: string;
  readonly id: string;
  readonly what: string;
}

/** A row in its stored form, for inspection. */
export interface InspectedRow<T> {
  readonly id: string;
  /** The row as a record. Undefined when the clear columns hold values that the vault never writes. */
  readonly record: T | undefined;
  /** The blind indexes of the row; empty for tables other than `token`. */
  readonly indexes: readonly Uint8Array[];
}

/** The records of the tables that are inspected row by row. */
export interface InspectedRecords {
  readonly application: ApplicationRecord;
  readonly application_key: ApplicationKeyRecord;
  readonly token: TokenRecord;
  readonly tombstone: Tombstone;
  readonly reply: StoredReply;
}

/** The part of a store for the holder of the vault's key. It manages keys and checks the store for damage. */
export interface KeyHolderStore {
  header(): Promise<VaultHeader>;
  /**
   * Resolves to whether it replaced the header; false when the stored header is no longer `expected`. When the promise
   * resolves, the old header is gone from the store.
   */
  replaceHeader(header: VaultHeader, expected: VaultHeader, audit: AuthorityDraft): Promise<boolean>;
  /**
   * Replaces the header and all wrapped keys of all tenants. Resolves to false when the stored header is no longer
   * `expected`, or when `keys` do not match the stored keys.
   */
  replaceMasterKey(
    header: VaultHeader,
    expected: VaultHeader,
    keys: readonly KeysOfTenant[],
    audit: AuthorityDraft,
  ): Promise<boolean>;

  /**
   * Adds a wrapped key to a tenant. Resolves to false when the tenant no longer exists or has a key with the same or a
   * larger id, or when a former master key wraps the new key.
   */
  addTenantKey(tenantId: string, key: WrappedKey, audit: AuthorityDraft): Promise<boolean>;
  /**
   * Destroys a replaced key. When the promise resolves, the key is gone from the store, unless another process reads
   * for seconds. Resolves to false while a record uses the key, or when the key is the newest of its purpose.
   */
  removeTenantKey(tenantId: string, keyId: number, audit: AuthorityDraft): Promise<boolean>;
  /** Counts the tenant's records that are sealed under keys other than `current`, including expired records. */
  countStale(tenantId: string, current: KeyIds): Promise<number>;
  /** Replaces the seals of keys, whose other columns stay. Resolves to the number of replaced ones. */
  resealApplicationKeys(tenantId: string, keys: readonly ApplicationKeyRecord[]): Promise<number>;
  /** Replaces the tokens that have not changed since they were read. Resolves to the number of replaced tokens. */
  resealTokens(tenantId: string, changes: readonly ResealedToken[]): Promise<number>;
  /** Replaces the stored replies that are still those that were read. Resolves to the number of replaced replies. */
  resealReplies(tenantId: string, changes: readonly ResealedReply[]): Promise<number>;

  /**
   * Resolves to the findings that need no key: a damaged structure, and indexes and counters that differ from their
   * rows.
   */
  inspect(): Promise<readonly Finding[]>;
  /**
   * Resolves to the revisions of the rows with ids after `after`, in order of id, including expired ones, and to the last
   * row of the audit, from one snapshot. The revision of a tombstone is 1.
   */
  revisionsOf(
    table: 'token' | 'tombstone',
    tenantId: string,
    after: string,
    limit: number,
  ): Promise<{ readonly head: number; readonly rows: readonly EndedRecord[] }>;
  /** Resolves to the rows with ids after `after`, in order of id, including expired ones. */
  inspectRows<Table extends keyof InspectedRecords>(
    table: Table,
    tenantId: string,
    after: string,
    limit: number,
  ): Promise<readonly InspectedRow<InspectedRecords[Table]>[]>;
}
