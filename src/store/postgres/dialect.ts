import type { Dialect } from '../rows/dialect.ts';
import { raw, sql } from '../rows/fragment.ts';
import { recordTables } from '../rows/record-columns.ts';
import { readStoredHeader, replaceStoredHeader } from './header-row.ts';
import { listsOf, storedList } from './sql-client.ts';
import { TOKEN_COLUMNS, toTokenRecord } from './token-reads.ts';
import { storedBlind, uuid, uuidKey } from './uuid-text.ts';

/** The removals of a tenant, except of its tokens: `purgeTenants` removes these, which nobody can open any more. */
const REMOVALS: readonly string[] = [
  'INSERT INTO vault.purge SELECT tenant, 0 FROM vault.token WHERE tenant = ? LIMIT 1',
  ...['reply', 'token_count', 'container_set', 'application_key', 'application', 'tenant_key', 'tenant'].map(
    (table) => `DELETE FROM vault.${table} WHERE tenant = ?`,
  ),
];

export const DIALECT: Dialect = {
  tables: recordTables(uuid),
  uuidKey,
  among(column, type, values) {
    const list = type === 'uuid' ? values.filter((id) => uuidKey(`${id}`) !== null) : values;
    return sql`${raw(column)} = ANY (${list}::${raw(type)}[])`;
  },
  /** OFFSET 0 prevents a plan, made for empty tables, that reads all rows of a tenant. */
  lookup: (table, alias, condition, join = 'INNER') =>
    sql`${raw(`${join} JOIN LATERAL (SELECT ${alias}.* FROM vault.${table} ${alias}`)} WHERE ${condition} OFFSET 0) ${raw(alias)} ON true`,
  by: () => raw(''),

  tokenColumns: TOKEN_COLUMNS,
  toToken: toTokenRecord,
  /** The blind indexes of the row, and the containers of its set. */
  blindColumns: `t.blinds || coalesce(
    (SELECT containers FROM vault.container_set s WHERE s.tenant = t.tenant AND s.number = t.set_number), '{}')`,
  toBlinds: (_tenant, row) => storedList(row.at(-1)).map(storedBlind),
  liveTokens: ['vault.token', 't.deleted_at IS NULL'],
  tombstones: ['vault.token', 't.deleted_at IS NOT NULL'],
  counters: 'vault.token_count',

  hasNewestKeys: true,
  removals: REMOVALS,
  // The container sets under an index key have no more tokens.
  keyRemovals: [
    'DELETE FROM vault.container_set WHERE tenant = ? AND index_key_id = ?',
    'DELETE FROM vault.tenant_key WHERE tenant = ? AND key_id = ?',
  ],

  rewrapped(keys, generation) {
    const [ids, keyIds, wrapped, generations] = listsOf(keys, 'tenant_id', 'key_id', 'wrapped', 'generation');
    return [
      sql`UPDATE vault.tenant_key k SET wrapped = w.wrapped, generation = w.generation
        FROM unnest(${ids}::uuid[], ${keyIds}::integer[], ${wrapped}::bytea[], ${generations}::integer[])
          w (tenant_id, key_id, wrapped, generation) JOIN vault.tenant n ON n.id = w.tenant_id
        WHERE k.tenant = n.tenant AND k.key_id = w.key_id AND k.generation = ${generation} RETURNING 1`,
    ];
  },
  sweep: { table: 'vault.sweep', sweptAt: 'swept_at', clockNote: 'clock_note', isRow: 'TRUE' },
  readHeader: readStoredHeader,
  writeHeader: replaceStoredHeader,
};
