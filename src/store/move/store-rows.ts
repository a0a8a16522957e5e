import type { MovedValue, ReadRows, WriteRows } from '../../core/move-ports.ts';
import { Problem } from '../../core/problem.ts';
import type { Run } from '../postgres/connections.ts';
import { MOVED_BATCH, type MovedSql, sqlOf } from './moved-tables.ts';

const TYPES = { integer: 'bigint', text: 'text', bytes: 'bytea', uuid: 'bytea' } as const;

/** The condition of tokens whose tenant exists. Nobody can open the others, and a sweep removes them. */
export const OF_TENANT = 'tenant NOT IN (SELECT tenant FROM vault.purge)';

/** The tables whose form differs from that of `MOVED_TABLES`, as queries. UUIDs become bytes later. */
const QUERIES: MovedSql = {
  container_set: `SELECT * FROM vault.container_set s WHERE EXISTS (SELECT 1 FROM vault.token t
      WHERE t.tenant = s.tenant AND t.set_number = s.number AND t.deleted_at IS NULL)`,
  token: `SELECT * FROM vault.token WHERE deleted_at IS NULL AND ${OF_TENANT}`,
  tombstone: `SELECT * FROM vault.token WHERE deleted_at IS NOT NULL AND ${OF_TENANT}`,
  token_count: `SELECT tenant, type, key_id, index_key_id, sum(live)::bigint AS live,
      max(last_created_at) AS last_created_at
    FROM vault.token_count GROUP BY tenant, type, key_id, index_key_id`,
  active: `SELECT tenant, month, sum(active)::bigint AS active FROM vault.token_count
    GROUP BY tenant, month HAVING sum(active) <> 0`,
};

/** The columns with lists of UUIDs, and the order of the UUIDs `b` with their positions `n`. */
const LISTS: Readonly<Record<string, string>> = { containers: 'b', blinds: 'n > 1, b' };

/** Returns the expression that converts a column to a moved value. */
function toMoved([name, kind]: readonly [name: string, kind: string]): string {
  if (name in LISTS) {
    return `(SELECT string_agg(uuid_send(b), ''::bytea ORDER BY ${LISTS[name]}) FROM unnest(${name}) WITH ORDINALITY u (b, n))`;
  }
  return kind === 'uuid' ? `uuid_send(${name})` : name;
}

/** Returns the expression that converts a moved value to a column. */
function fromMoved([name, kind]: readonly [name: string, kind: string]): string {
  if (name in LISTS) {
    return `ARRAY(SELECT encode(substr(${name}, 16 * n + 1, 16), 'hex')::uuid
        FROM generate_series(0, length(${name}) / 16 - 1) n ORDER BY n) AS ${name}`;
  }
  return kind === 'uuid' ? `encode(${name}, 'hex')::uuid AS ${name}` : name;
}

/** The statements that write the rows `r` into tables of another form. */
const INSERTS: MovedSql = {
  tenant: `INSERT INTO vault.tenant (tenant, id, owner_id, created_by, created_at, modified_by, modified_at, revision,
      key_id, details, data_key_id, index_key_id) OVERRIDING SYSTEM VALUE
    SELECT *, 0, 0 FROM r`,
  container_set: `INSERT INTO vault.container_set (tenant, number, name, containers, index_key_id)
    SELECT tenant, number, name, containers, 0 FROM r`,
  tombstone: `INSERT INTO vault.token (tenant, id, type, created_by, created_at, deleted_by, deleted_at, mac,
      active_month, revision, key_id, index_key_id, token) OVERRIDING SYSTEM VALUE
    SELECT *, 0, 0, 0, 0, (SELECT coalesce(max(token), 0) FROM vault.token) + row_number() OVER () FROM r`,
  token_count: `INSERT INTO vault.token_count (tenant, type, key_id, index_key_id, live, last_created_at,
      month, active) SELECT *, 0, 0 FROM r`,
  // A counter of active tokens needs a type and keys. It gets those of a counter that the tenant has.
  active: `INSERT INTO vault.token_count SELECT r.tenant, c.type, r.month, c.key_id, c.index_key_id, 0, r.active,
      c.last_created_at FROM r, LATERAL (SELECT * FROM vault.token_count WHERE tenant = r.tenant AND month = 0
      ORDER BY type, key_id, index_key_id LIMIT 1) c`,
  sweep: `INSERT INTO vault.sweep (one, swept_at, clock_note)
    SELECT 1, swept_at, clock_note FROM r`,
};

/** Continues the numbering of a table after its last row. */
const numbers = (table: string) => `SELECT setval(pg_get_serial_sequence('vault.${table}', '${table}'), max(${table}))
  FROM vault.${table}`;

/** The statements that complete the tables after the last row. */
export const COMPLETE: readonly string[] = [
  'INSERT INTO vault.token_index SELECT tenant, b, set_number, created_at, token FROM vault.token, unnest(blinds) b',
  ...['tenant', 'application', 'application_key', 'token', 'reply'].map(numbers),
  `UPDATE vault.tenant n SET
    data_key_id = (SELECT max(key_id) FROM vault.tenant_key k WHERE k.tenant = n.tenant AND purpose = 1),
    index_key_id = (SELECT max(key_id) FROM vault.tenant_key k WHERE k.tenant = n.tenant AND purpose = 2)`,
  `UPDATE vault.container_set s SET index_key_id = (SELECT max(index_key_id) FROM vault.token t
    WHERE t.tenant = s.tenant AND t.set_number = s.number AND deleted_at IS NULL)`,
];

/** Returns the reads of a store for a move, one table after the other. They need an open transaction. */
export function readStoreRows(run: Run): ReadRows {
  return async function* rows(table) {
    const values = Object.entries(table.columns).map(toMoved);
    const source = sqlOf(QUERIES, table) ?? `SELECT * FROM vault.${table.name}`;
    await run(`DECLARE moved NO SCROLL CURSOR FOR SELECT ${values} FROM (${source}) t ORDER BY ${table.key}`);
    for (;;) {
      const batch = await run(`FETCH ${MOVED_BATCH} FROM moved`);
      if (batch.length === 0) break;
      yield batch.map((row) => row.map(movedValue));
    }
    await run('CLOSE moved');
  };
}

function movedValue(value: unknown): MovedValue {
  if (value === null || typeof value === 'string' || Buffer.isBuffer(value)) return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new Problem('integrity_failure');
}

/** Returns the writes of a move to a new store. They need an open transaction. */
export function writeStoreRows(run: Run): WriteRows {
  return async (table, rows) => {
    const columns = Object.entries(table.columns);
    const names = columns.map(([name]) => name);
    const lists = columns.map(([, kind], at) => `$${at + 1}::${TYPES[kind]}[]`);
    const values = columns.map(fromMoved);
    const isNumbered = names[0] === table.name;
    const insert =
      sqlOf(INSERTS, table) ??
      `INSERT INTO vault.${table.name} (${names}) ${isNumbered ? 'OVERRIDING SYSTEM VALUE' : ''} SELECT * FROM r`;
    const text = `WITH r AS (SELECT ${values} FROM unnest(${lists}) u (${names})) ${insert}`;
    await run(
      text,
      columns.map((_, at) => rows.map((row) => row[at])),
    );
  };
}
