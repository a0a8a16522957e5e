import type { TokenType } from '../../src/contract/token-types.ts';
import type {
  ApplicationRecord,
  Instant,
  KeyIds,
  PageOf,
  PageRequest,
  TenantRecord,
  TokenRecord,
  Tombstone,
  WrappedKey,
} from '../../src/core/ports.ts';
import { Problem } from '../../src/core/problem.ts';
import type { StoredReply } from '../../src/core/reply-ports.ts';

/** A token with its blind indexes. */
export interface HeldToken {
  readonly record: TokenRecord;
  readonly blinds: ReadonlySet<string>;
}

/** A stored reply with the records that it shows. */
export interface HeldReply {
  readonly reply: StoredReply;
  readonly subjects: ReadonlySet<string>;
}

/** The records of one tenant, deleted together. */
export interface MemoryTenant {
  record: TenantRecord;
  keys: readonly WrappedKey[];
  readonly applications: Map<string, ApplicationRecord>;
  readonly tokens: Map<string, HeldToken>;
  readonly tombstones: Map<string, Tombstone>;
  /** By application and key hash. */
  readonly replies: Map<string, HeldReply>;
  /** The last creation time of each type, deleted tokens included. */
  readonly lastCreated: Map<TokenType, Instant>;
  /** The number of active tokens by month. */
  readonly active: Map<number, number>;
}

export function memoryTenant(record: TenantRecord, keys: readonly WrappedKey[]): MemoryTenant {
  return {
    record,
    keys: [...keys],
    applications: new Map(),
    tokens: new Map(),
    tombstones: new Map(),
    replies: new Map(),
    lastCreated: new Map(),
    active: new Map(),
  };
}

/** Throws `write_conflict` unless the record is sealed with the tenant's newest keys. */
export function requireNewestKeys(
  { keys }: MemoryTenant,
  { key_id, index_key_id }: Pick<KeyIds, 'key_id'> & Partial<KeyIds>,
): void {
  const current = newestKey(keys, 'data') === key_id;
  if (!current || (index_key_id !== undefined && newestKey(keys, 'index') !== index_key_id)) {
    throw new Problem('write_conflict');
  }
}

export function newestKey(keys: readonly WrappedKey[], purpose: WrappedKey['purpose']): number {
  return Math.max(...keys.filter((key) => key.purpose === purpose).map((key) => key.key_id));
}

/** Returns whether a record exists for readers: an expired one does not. */
export function isLive(record: { readonly expires_at?: Instant | undefined }, now: Instant): boolean {
  return record.expires_at === undefined || record.expires_at > now;
}

interface Dated {
  readonly id: string;
  readonly created_at: Instant;
}

/** Orders by `created_at` descending, then by the UTF-8 bytes of `id`, like a database. */
export function newestFirst(a: Dated, b: Dated): number {
  return b.created_at - a.created_at || compareText(a.id, b.id);
}

export function oldestFirst(a: Dated, b: Dated): number {
  return a.created_at - b.created_at || compareText(a.id, b.id);
}

export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

export function pageOf<T>(records: readonly T[], page: PageRequest): PageOf<T> {
  return { records: records.slice(page.offset, page.offset + page.limit), total: records.length };
}
