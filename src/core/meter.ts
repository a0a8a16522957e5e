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
  /** The sizes of the file and of its log in bytes; absent for a database. */
  readonly sizes?: { readonly file: number; readonly log: number } | undefined;
}
