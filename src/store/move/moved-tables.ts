import type { MovedTable } from '../../core/move-ports.ts';
import { type Kind, text } from '../rows/columns.ts';
import { KEY, recordTables, TOKEN_ROW } from '../rows/record-columns.ts';

/** Stands for the UUIDs of a store, of which only the type matters here. */
const uuid: Kind<string> = { ...text, type: 'uuid' };
const TABLES = recordTables(uuid);
const { full: revealed, ...TOKEN } = TOKEN_ROW.types;

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
    columns: { tenant: 'integer', ...TABLES.tenant.types },
  },
  { name: 'tenant_key', key: ['tenant', 'key_id'], columns: { tenant: 'integer', ...KEY.types } },
  {
    name: 'application',
    key: ['application'],
    columns: { application: 'integer', tenant: 'integer', ...TABLES.application.types },
  },
  {
    name: 'application_key',
    key: ['application_key'],
    columns: { application_key: 'integer', tenant: 'integer', ...TABLES.application_key.types },
  },
  {
    name: 'token',
    key: ['token'],
    columns: { token: 'integer', tenant: 'integer', ...TOKEN, set_number: 'integer', blinds: 'bytes', revealed },
  },
  {
    name: 'container_set',
    key: ['tenant', 'number'],
    columns: { tenant: 'integer', number: 'integer', name: 'uuid', containers: 'bytes' },
  },
  { name: 'tombstone', key: ['tenant', 'id'], columns: { tenant: 'integer', ...TABLES.tombstone.types } },
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
  { name: 'reply', key: ['reply'], columns: { reply: 'integer', tenant: 'integer', ...TABLES.reply.types } },
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
