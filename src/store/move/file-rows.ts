import type { MovedRow, MovedValue, ReadRows, WriteRows } from '../../core/move-ports.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import type { Connection } from '../sqlite/file/driver.ts';
import { BLIND_LENGTH, FILE_ROW } from '../sqlite/file/schema.ts';
import { containerSets } from '../sqlite/tables/container-sets.ts';
import { joinBlinds, splitBlinds } from '../sqlite/tables/token-index.ts';
import { MOVED_BATCH, type MovedSql, sqlOf } from './moved-tables.ts';

/** The tables whose form differs from that of `MOVED_TABLES`, as queries. */
const QUERIES: MovedSql = {
  container_set: `SELECT tenant, number, name, unhex(group_concat(hex(container), '' ORDER BY container)) AS containers
    FROM container_set WHERE number > 0 GROUP BY tenant, number, name`,
  token: 'SELECT *, full AS revealed FROM token',
  token_count: 'SELECT *, count AS live, at AS last_created_at FROM counter WHERE type > 0',
  active: 'SELECT *, count AS active FROM counter WHERE month > 0',
  head: "SELECT coalesce(max(sequence), 0) AS logged FROM audit_index WHERE blind = x''",
  audit_index: "SELECT * FROM audit_index WHERE blind <> x''",
  sweep: `SELECT at AS swept_at, clock AS clock_note FROM counter WHERE ${FILE_ROW}`,
};

/** The statements that write a row `r` into tables of another form. */
const INSERTS: MovedSql = {
  container_set: `INSERT INTO container_set (tenant, number, name, container)
    SELECT tenant, number, name, substr(containers, at, ${BLIND_LENGTH})
    FROM (WITH RECURSIVE part AS (SELECT *, 1 AS at FROM r
      UNION ALL SELECT tenant, number, name, containers, at + ${BLIND_LENGTH} FROM part
      WHERE at + ${BLIND_LENGTH} <= length(containers)) SELECT * FROM part)`,
  token_count: `INSERT INTO counter (tenant, type, month, key_id, index_key_id, count, at)
    SELECT tenant, type, 0, key_id, index_key_id, live, last_created_at FROM r`,
  active: `INSERT INTO counter (tenant, type, month, key_id, index_key_id, count, at)
    SELECT tenant, 0, month, 0, 0, active, 0 FROM r`,
  head: "INSERT INTO audit_index (blind, sequence) SELECT x'', logged FROM r WHERE logged > 0",
  sweep: `UPDATE counter SET at = (SELECT swept_at FROM r), clock = (SELECT clock_note FROM r) WHERE ${FILE_ROW}`,
};

/**
 * Returns the reads of a file for a move. The connection runs nothing else while the rows of a table are read. Replaces
 * a set of containers without a number by its containers, since only files have such sets.
 */
export function readFileRows(connection: Connection): ReadRows {
  return async function* rows(table) {
    const columns = Object.keys(table.columns);
    const isToken = table.name === 'token';
    const complete = isToken ? completeBlinds(connection, columns) : (row: MovedValue[]) => row;
    const source = sqlOf(QUERIES, table) ?? `SELECT * FROM ${table.name}`;
    const query = connection
      .prepare<[], MovedValue[]>(`SELECT ${columns} FROM (${source}) ORDER BY ${table.key}`)
      .raw();
    let batch: MovedRow[] = [];
    for (const row of query.iterate()) {
      batch.push(complete(row));
      if (batch.length < MOVED_BATCH) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  };
}

/** Returns the function that gives a row of `token` its blind indexes in the order of `MOVED_TABLES`. */
function completeBlinds(connection: Connection, columns: readonly string[]) {
  const sets = containerSets(connection);
  const [tenantAt, blindsAt] = [columns.indexOf('tenant'), columns.indexOf('blinds')];
  return (row: MovedValue[]): MovedValue[] => {
    const blinds = storedBytes(row[blindsAt]);
    const [fingerprint, ...others] = sets.blindsWithoutNames(storedNumber(row[tenantAt]), blinds);
    const all = joinBlinds([...(fingerprint ? [fingerprint] : []), ...others.toSorted(Buffer.compare)]);
    return row.with(blindsAt, all);
  };
}

/** Returns the writes of a move to a new file. Each call is a transaction. */
export function writeFileRows(connection: Connection): WriteRows {
  const index = connection.prepare<[MovedValue, Buffer, MovedValue, MovedValue, MovedValue]>(
    'INSERT INTO token_index (tenant, blind, set_number, created_at, token) VALUES (?, ?, ?, ?, ?)',
  );
  return async (table, rows) => {
    const columns = Object.keys(table.columns);
    const names = columns.map((column) => (column === 'revealed' ? 'full' : column));
    const insert = sqlOf(INSERTS, table) ?? `INSERT INTO ${table.name} (${names}) SELECT ${columns} FROM r`;
    const statement = connection.prepare(`WITH r (${columns}) AS (VALUES (${columns.map(() => '?')})) ${insert}`);
    const at = Object.fromEntries(columns.map((column, position) => [column, position]));
    const value = (row: MovedRow, column: string): MovedValue => row[at[column] ?? -1] ?? null;
    connection.transaction(() => {
      for (const row of rows) {
        statement.run(...row);
        if (table.name !== 'token') continue;
        for (const blind of splitBlinds(storedBytes(value(row, 'blinds')))) {
          const [tenant, set] = [value(row, 'tenant'), value(row, 'set_number')];
          index.run(tenant, blind, set, value(row, 'created_at'), value(row, 'token'));
        }
      }
    })();
  };
}
