import type { AuditDraft, AuditHead } from './audit/ports.ts';
import type {
  ApplicationRecord,
  Instant,
  KeyIds,
  Store,
  TokenIndexes,
  TokenRecord,
  Tombstone,
  VaultHeader,
  WrappedKey,
} from './ports.ts';
import type { StoredReply } from './reply-ports.ts';

/** A token as read, and the same token under newer keys: same revision, same contents. */
export interface ResealedToken {
  readonly before: TokenRecord;
  readonly after: TokenRecord;
  /** Absent when unchanged. */
  readonly indexes?: TokenIndexes | undefined;
}

/** A step of a walk over a tenant's tokens by id: those under older keys. */
export interface StaleTokens {
  readonly tokens: readonly TokenRecord[];
  /** The walk continues after this id. Absent at the end. */
  readonly next?: string | undefined;
}

/** The wrapped keys of one tenant. */
export interface KeysOfTenant {
  readonly tenant_id: string;
  readonly keys: readonly WrappedKey[];
}

/**
 * The commit that a store has reached. Each commit has a new random `mark`, so two histories never share both values.
 */
export interface ChangeMark {
  readonly counter: number;
  readonly mark: Uint8Array;
}

/** A difference from what the vault wrote. `what` is a fixed text. */
export interface Finding {
  readonly table: string;
  readonly id: string;
  readonly what: string;
}

/** A row in its stored form, for inspection. */
export interface InspectedRow<T> {
  readonly id: string;
  /** Undefined when the clear columns hold values that the vault never writes. */
  readonly record: T | undefined;
  /** The blind indexes of the row; empty for anything but a token. */
  readonly indexes: readonly Uint8Array[];
}

/** The records of the tables that are inspected row by row. */
export interface InspectedRecords {
  readonly application: ApplicationRecord;
  readonly token: TokenRecord;
  readonly tombstone: Tombstone;
  readonly reply: StoredReply;
}

/** The part of a store for the holder of the vault's key: its keys, and checks for damage. */
export interface Maintenance {
  header(): Promise<VaultHeader>;
  /**
   * Returns false when the header is no longer `expected`. The old header is gone from the store when this resolves.
   */
  replaceHeader(header: VaultHeader, expected: VaultHeader, audit: AuditDraft): Promise<boolean>;
  /**
   * Replaces the header and all wrapped keys of all tenants. Returns false, too, when `keys` do not match the stored
   * keys.
   */
  replaceMasterKey(
    header: VaultHeader,
    expected: VaultHeader,
    keys: readonly KeysOfTenant[],
    audit: AuditDraft,
  ): Promise<boolean>;

  /**
   * Returns false when the tenant is gone, has a key with the same or a larger id, or the key is wrapped by a former
   * master key.
   */
  addTenantKey(tenantId: string, key: WrappedKey, audit: AuditDraft): Promise<boolean>;
  /**
   * Destroys a replaced key: it is gone from the store when this resolves, unless another process reads for seconds.
   * Returns false while a record uses it, or when it is the newest of its purpose.
   */
  removeTenantKey(tenantId: string, keyId: number, audit: AuditDraft): Promise<boolean>;
  /** Counts the records of the tenant under other keys than these, expired ones included. */
  countStale(tenantId: string, current: KeyIds): Promise<number>;
  /** Examines some hundreds of tokens with ids after `after`. Returns at most `limit` tokens and a few megabytes. */
  findStaleTokens(tenantId: string, current: KeyIds, after: string, limit: number): Promise<StaleTokens>;
  findStaleApplications(tenantId: string, current: KeyIds, limit: number): Promise<readonly ApplicationRecord[]>;
  /** Replaces those that are unchanged since they were read; returns their number. */
  resealTokens(tenantId: string, changes: readonly ResealedToken[]): Promise<number>;

  /**
   * Removes all tokens, tombstones and counters of these tenants, and the store's data about them, in one step. Keeps
   * their applications and empties their stored replies. Returns the number of tokens, expired ones included, for each
   * existing tenant.
   */
  removeAllTokens(tenantIds: readonly string[], audit: (tenantId: string) => AuditDraft): Promise<number>;

  /** The last commit. */
  lastChange(): Promise<ChangeMark>;
  /** Returns the findings that need no key: a damaged structure, indexes and counters that differ from their rows. */
  inspect(): Promise<readonly Finding[]>;
  /** In order of id, after `after`; includes expired ones. */
  inspectRows<Table extends keyof InspectedRecords>(
    table: Table,
    tenantId: string,
    after: string,
    limit: number,
  ): Promise<readonly InspectedRow<InspectedRecords[Table]>[]>;
}

/** The description of a snapshot: `link` and `sequence` are the last entry of the audit. */
export interface SnapshotFacts extends AuditHead {
  readonly vault_id: string;
  readonly name: string;
  readonly saved_at: Instant;
}

/** The facts and their keyed hash. */
export interface SignedFacts extends SnapshotFacts {
  readonly mac: Uint8Array;
}

/** The findings in a snapshot, and the reason if the vault cannot load it. */
export interface InspectedSnapshot {
  readonly facts: SignedFacts;
  readonly tokens: number;
  readonly refusal?: string;
}

/** Throws when this vault did not write these facts. */
type VerifyFacts = (facts: SignedFacts) => void;

/**
 * A store in one file of this machine, with operations that only such a store has. Only commands for the holder of the
 * file's key use it; handlers use `Store`. Paths are absolute.
 */
export interface FileStore extends Store {
  /** Limits the page cache, for a caller that reads each row once. In KiB. */
  limitCache(kib: number): void;
  /**
   * Copies the records of one moment to a new file of mode 0600. The copy appears complete and synced, or not at all.
   * Replaces an older file with `replace`. `sign` makes the facts. Throws the faults `file_exists`, `file_unwritable`,
   * `no_space`, and the problem `vault_busy`.
   */
  saveSnapshot(
    target: string,
    options: { readonly replace: boolean; readonly sign: (head: AuditHead) => SignedFacts },
  ): Promise<void>;
  /** `loadable` also finds the reason that keeps the vault from loading it. Throws the fault `damaged`. */
  inspectSnapshot(
    path: string,
    options: { readonly verify: VerifyFacts; readonly loadable: boolean },
  ): Promise<InspectedSnapshot>;
  /**
   * Replaces the records of the snapshot's tenants with those of the snapshot, in one transaction, and removes their
   * stored replies. Keeps the audit, the keys and later tenants. Throws the faults `damaged` and `conflict` without a
   * change.
   */
  loadSnapshot(
    path: string,
    options: {
      readonly verify: VerifyFacts;
      readonly audit: (facts: SignedFacts, tenants: readonly string[]) => AuditDraft;
    },
  ): Promise<void>;
}

/** The store of the anchor, outside the vault: a small text, read and replaced as a whole. */
export interface AnchorNote {
  /** The path that the user named, for messages. */
  readonly place: string;
  /** Undefined before the first one. Throws the fault `file_unwritable`. */
  read(): Promise<string | undefined>;
  /** Throws the faults `file_unwritable`, `no_space`. */
  write(text: string): Promise<void>;
}

/** The folder of a vault's snapshots: one file each, named like the snapshot. Paths are absolute. */
export interface SnapshotFolder {
  /** In alphabetical order; empty without a folder. May include foreign files. */
  names(): Promise<readonly string[]>;
  /** The path of the snapshot, whether or not it exists. */
  pathOf(name: string): string;
  /**
   * Resolves to its size in bytes; undefined if it does not exist. Throws the faults of a file that is not safe to
   * open.
   */
  check(name: string): Promise<number | undefined>;
  /**
   * Creates the folder with access for this user only, and removes the remains of killed saves. Throws the faults
   * `file_unwritable`, `file_unsafe`.
   */
  prepare(): Promise<void>;
  remove(name: string): Promise<void>;
}
