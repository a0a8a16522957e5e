import type { MovedTable } from '../../core/move-ports.ts';

const SEALED_BY = { revision: 'integer', key_id: 'integer' } as const;
const MADE = { created_by: 'uuid', created_at: 'integer', modified_by: 'uuid', modified_at: 'integer' } as const;

/**
 * The tables of a vault in the form that all stores share, in the order in which they are written. Numbers of tenants,
 * applications, API keys, tokens and replies stay the same.
 *
 * - `container_set` has the sets with a number, each with its containers in order, 16 bytes each.
 * - `token.blinds` is the fingerprint followed by all other blind indexes in order, without the containers of a
 *   numbered set. Index entries follow from it.
 * - `token_count` and `active` are sums over the rows in which a store counts.
 * - `audit_index` is complete up to `head.logged`.
 */
export const MOVED_TABLES = [
  {
    name: 'tenant',
    key: ['tenant'],
    columns: { tenant: 'integer', id: 'uuid', owner_id: 'uuid', ...MADE, ...SEALED_BY, details: 'bytes' },
  },
  {
    name: 'tenant_key',
    key: ['tenant', 'key_id'],
    columns: {
      tenant: 'integer',
      key_id: 'integer',
      purpose: 'integer',
      generation: 'integer',
      wrapped: 'bytes',
      created_at: 'integer',
    },
  },
  {
    name: 'application',
    key: ['application'],
    columns: {
      application: 'integer',
      tenant: 'integer',
      id: 'uuid',
      type: 'integer',
      parent_id: 'uuid',
      parent_key_id: 'uuid',
      key_version: 'integer',
      ...MADE,
      expires_at: 'integer',
      ...SEALED_BY,
      details: 'bytes',
    },
  },
  {
    name: 'application_key',
    key: ['application_key'],
    columns: {
      application_key: 'integer',
      tenant: 'integer',
      id: 'uuid',
      application_id: 'uuid',
      hash: 'bytes',
      version: 'integer',
      created_by: 'uuid',
      created_at: 'integer',
      expires_at: 'integer',
      ...SEALED_BY,
      last_used_day: 'integer',
      seal: 'bytes',
    },
  },
  {
    name: 'token',
    key: ['token'],
    columns: {
      token: 'integer',
      tenant: 'integer',
      id: 'text',
      type: 'integer',
      created_at: 'integer',
      expires_at: 'integer',
      ...SEALED_BY,
      index_key_id: 'integer',
      active_month: 'integer',
      set_number: 'integer',
      blinds: 'bytes',
      clear: 'bytes',
      presented: 'bytes',
      revealed: 'bytes',
    },
  },
  {
    name: 'container_set',
    key: ['tenant', 'number'],
    columns: { tenant: 'integer', number: 'integer', name: 'uuid', containers: 'bytes' },
  },
  {
    name: 'tombstone',
    key: ['tenant', 'id'],
    columns: {
      tenant: 'integer',
      id: 'text',
      type: 'integer',
      created_by: 'uuid',
      created_at: 'integer',
      deleted_by: 'uuid',
      deleted_at: 'integer',
      mac: 'bytes',
    },
  },
  {
    name: 'token_count',
    key: ['tenant', 'type', 'key_id', 'index_key_id'],
    columns: {
      tenant: 'integer',
      type: 'integer',
      key_id: 'integer',
      index_key_id: 'integer',
      live: 'integer',
      last_created_at: 'integer',
    },
  },
  {
    name: 'active',
    key: ['tenant', 'month'],
    columns: { tenant: 'integer', month: 'integer', active: 'integer' },
  },
  { name: 'head', key: ['logged'], columns: { logged: 'integer' } },
  {
    name: 'audit',
    key: ['sequence'],
    columns: { sequence: 'integer', at: 'integer', link: 'bytes', sealed: 'bytes' },
  },
  { name: 'audit_index', key: ['blind', 'sequence'], columns: { blind: 'uuid', sequence: 'integer' } },
  {
    name: 'reply',
    key: ['reply'],
    columns: {
      reply: 'integer',
      tenant: 'integer',
      application_id: 'uuid',
      key_hash: 'bytes',
      request_hash: 'bytes',
      created_at: 'integer',
      key_id: 'integer',
      sealed: 'bytes',
    },
  },
  { name: 'sweep', key: ['swept_at'], columns: { swept_at: 'integer', clock_note: 'text' } },
] as const satisfies readonly MovedTable[];

type MovedTableName = (typeof MOVED_TABLES)[number]['name'];

/** The SQL of the tables whose form in a store differs from that of `MOVED_TABLES`. */
export type MovedSql = Readonly<Partial<Record<MovedTableName, string>>>;

/** Returns the SQL of a table; undefined if its form is that of `MOVED_TABLES`. */
export function sqlOf(texts: MovedSql, { name }: MovedTable): string | undefined {
  return Object.entries(texts).find(([table]) => table === name)?.[1];
}

/** The number of rows in one read and in one write. */
export const MOVED_BATCH = 500;
