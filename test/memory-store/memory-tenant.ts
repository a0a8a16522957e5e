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

/** A token with the blind indexes that it is found by. */
export interface HeldToken {
  readonly record: TokenRecord;
  readonly blinds: ReadonlySet<string>;
}

/** A stored reply with the records that it shows. */
export interface HeldReply {
  readonly reply: StoredReply;
  readonly subjects: ReadonlySet<string>;
}

/** Everything that the memory store holds of one tenant; it goes as one. */
export interface MemoryTenant {
  record: TenantRecord;
  keys: readonly WrappedKey[];
  readonly applications: Map<string, ApplicationRecord>;
  readonly tokens: Map<string, HeldToken>;
  readonly tombstones: Map<string, Tombstone>;
  /** By application and hash of the key. */
  readonly replies: Map<string, HeldReply>;
  /** When the last token of each type was created, deleted ones included. */
  readonly lastCreated: Map<TokenType, Instant>;
  /** Tokens counted as active, by month. */
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

/** Throws `write_conflict` for a record that is not under the tenant's newest keys. */
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

/** To every reader an expired record does not exist. */
export function isLive(record: { readonly expires_at?: Instant | undefined }, now: Instant): boolean {
  return record.expires_at === undefined || record.expires_at > now;
}

interface Dated {
  readonly id: string;
  readonly created_at: Instant;
}

/** `created_at` descending, then `id` ascending by code points, as a database compares text. */
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
