import type { TokenType } from '../contract/token-types.ts';
import type { WrappedKey } from './ports.ts';

/** Receives the work of a vault, for metrics. It never receives names, ids or values. */
export interface Meter {
  /** Records a commit of several writes. `waits` contains each write's wait before the commit, in milliseconds. */
  committed(waits: readonly number[]): void;
  /** Records that an attempt is repeated, because it found the store locked or busy. */
  retried(): void;
  /** Records a sweep that removed this number of records; undefined for a sweep that failed. */
  swept(removed: number | undefined): void;
  /** Records that the vault was compared with its audit, with this number of findings, at a time in milliseconds. */
  checked(findings: number, at: number): void;
}

/** The state of a vault, for metrics. It holds no names, ids or values. */
export interface VaultFigures {
  /** The number of live tokens of all tenants, by type. */
  readonly tokens: Readonly<Record<TokenType, number>>;
  /** The age of the oldest audit event that is not on disk, in milliseconds; 0 without one. */
  readonly auditLag: number;
  readonly format: number;
  /** The generation of the master key. */
  readonly masterKey: number;
  /** The largest number of a tenant's key, by purpose. Rotating adds keys with larger numbers. */
  readonly keys: Readonly<Record<WrappedKey['purpose'], number>>;
  /** Whether writes succeed: false since a write failed because of the disk or the database. */
  readonly writable: boolean;
  /** The time of the last `vault backup`, in milliseconds; undefined before the first one, and for a database. */
  readonly backedUpAt?: number | undefined;
  /**
   * The sizes of the file, of its log, and of the space that is left for them, in bytes; absent for a database. The
   * space is undefined if the file system does not report it.
   */
  readonly sizes?: { readonly file: number; readonly log: number; readonly free: number | undefined } | undefined;
}
