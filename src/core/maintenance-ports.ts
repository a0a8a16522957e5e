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

/** A token that was read, and the same one under newer keys: same revision, same contents. */
export interface ResealedToken {
  readonly before: TokenRecord;
  readonly after: TokenRecord;
  /** Absent: as they were. */
  readonly indexes?: TokenIndexes | undefined;
}

/** A step of a walk over the tokens of a tenant in the order of ids: those under other keys than the current ones. */
export interface StaleTokens {
  readonly tokens: readonly TokenRecord[];
  /** The walk goes on after this id. Absent at the end. */
  readonly next?: string | undefined;
}

/** The wrapped keys of one tenant. */
export interface KeysOfTenant {
  readonly tenant_id: string;
  readonly keys: readonly WrappedKey[];
}

/** Which commit a store is at. `mark` is random and new with each, so that two histories never agree on both. */
export interface ChangeMark {
  readonly counter: number;
  readonly mark: Uint8Array;
}

/** Something that is not as the vault wrote it. `what` is a fixed text. */
export interface Finding {
  readonly table: string;
  readonly id: string;
  readonly what: string;
}

/** A row in its stored form, for inspection. */
export interface InspectedRow<T> {
  readonly id: string;
  /** Undefined when the clear columns of the row have values that the vault never writes. */
  readonly record: T | undefined;
  /** The blind indexes that the row is found by; empty but for a token. */
  readonly indexes: readonly Uint8Array[];
}

/** The records of the tables that are inspected row by row. */
export interface InspectedRecords {
  readonly application: ApplicationRecord;
  readonly token: TokenRecord;
  readonly tombstone: Tombstone;
  readonly reply: StoredReply;
}

/** The part of a store for the holder of the vault's key: its keys, and whether it is as it was written. */
export interface Maintenance {
  header(): Promise<VaultHeader>;
  /** False when the header is no longer `expected`. The old one is nowhere in the store when this resolves. */
  replaceHeader(header: VaultHeader, expected: VaultHeader, audit: AuditDraft): Promise<boolean>;
  /** The same with all wrapped keys of all tenants. False also when `keys` are not exactly those that there are. */
  replaceMasterKey(
    header: VaultHeader,
    expected: VaultHeader,
    keys: readonly KeysOfTenant[],
    audit: AuditDraft,
  ): Promise<boolean>;

  /** False when the tenant is gone, has a key with as large an id, or the key is wrapped by a former master key. */
  addTenantKey(tenantId: string, key: WrappedKey, audit: AuditDraft): Promise<boolean>;
  /**
   * Destroys a key that a newer one has replaced: it is nowhere in the store when this resolves, unless another process
   * reads for seconds. False while a record is under it, or when it is the newest of its purpose.
   */
  removeTenantKey(tenantId: string, keyId: number, audit: AuditDraft): Promise<boolean>;
  /** How many records of the tenant are under other keys than these, expired ones included. */
  countStale(tenantId: string, current: KeyIds): Promise<number>;
  /** Looks at some hundreds of tokens whose ids are after `after`; finds at most `limit`, and no more than some megabytes. */
  findStaleTokens(tenantId: string, current: KeyIds, after: string, limit: number): Promise<StaleTokens>;
  findStaleApplications(tenantId: string, current: KeyIds, limit: number): Promise<readonly ApplicationRecord[]>;
  /** Replaces those that still are as they were read; answers how many. */
  resealTokens(tenantId: string, changes: readonly ResealedToken[]): Promise<number>;

  /**
   * Removes all tokens, tombstones and counters of these tenants, in one step, and what the store keeps of them; their
   * applications stay, and their stored replies are emptied. Answers how many tokens there were, expired ones included. One entry for each tenant that there is.
   */
  removeAllTokens(tenantIds: readonly string[], audit: (tenantId: string) => AuditDraft): Promise<number>;

  /** The last commit. */
  lastChange(): Promise<ChangeMark>;
  /** Returns the findings that need no key: a damaged structure, indexes and counters that differ from their rows. */
  inspect(): Promise<readonly Finding[]>;
  /** In order of id, after `after`; expired ones included. */
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

/** The facts with the keyed hash over them. */
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
 * A store in one file of this machine, with what only such a store can do. Only commands for the holder of the file's
 * key use it; handlers use `Store`. Paths are absolute.
 */
export interface FileStore extends Store {
  /** Limits the memory for pages of the file, for a caller that reads each row once. In KiB. */
  limitCache(kib: number): void;
  /**
   * Copies the records of one moment to a new file of mode 0600, which appears whole and on the disk, or not at all. An
   * older file gives way with `replace`. `sign` makes the facts. Throws the faults `file_exists`, `file_unwritable`,
   * `no_space`, and the problem `vault_busy`.
   */
  saveSnapshot(
    target: string,
    options: { readonly replace: boolean; readonly sign: (head: AuditHead) => SignedFacts },
  ): Promise<void>;
  /** `loadable` asks for the reason that keeps the vault from loading it. Throws the fault `damaged`. */
  inspectSnapshot(
    path: string,
    options: { readonly verify: VerifyFacts; readonly loadable: boolean },
  ): Promise<InspectedSnapshot>;
  /**
   * Puts the records of a snapshot in place of those that its tenants have, in one transaction, and removes their stored replies. The audit, the keys and
   * tenants that were made since stay. Throws the faults `damaged` and `conflict`; then nothing has changed.
   */
  loadSnapshot(
    path: string,
    options: {
      readonly verify: VerifyFacts;
      readonly audit: (facts: SignedFacts, tenants: readonly string[]) => AuditDraft;
    },
  ): Promise<void>;
}

/** Where the anchor is kept, outside the store: a small text that is read whole and replaced whole. */
export interface AnchorNote {
  /** For messages: the path that the user named. */
  readonly place: string;
  /** Undefined when there is none yet. Throws the fault `file_unwritable`. */
  read(): Promise<string | undefined>;
  /** Throws the faults `file_unwritable`, `no_space`. */
  write(text: string): Promise<void>;
}

/** The folder that a vault's snapshots are in: a file for each, named like it. Paths are absolute. */
export interface SnapshotFolder {
  /** In alphabetical order; empty where there is no folder. Foreign files may be among them. */
  names(): Promise<readonly string[]>;
  /** Where the snapshot is, or would be. */
  pathOf(name: string): string;
  /** Resolves to its size in bytes; undefined where there is none. Throws the faults of a file that is not safe to open. */
  check(name: string): Promise<number | undefined>;
  /** Makes the folder, for this user only, and removes what killed saves left. Throws the faults `file_unwritable`, `file_unsafe`. */
  prepare(): Promise<void>;
  remove(name: string): Promise<void>;
}
