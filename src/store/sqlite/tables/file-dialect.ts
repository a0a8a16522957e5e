import { Problem } from '../../../core/problem.ts';
import type { Dialect } from '../../rows/dialect.ts';
import { raw, sql } from '../../rows/fragment.ts';
import { recordTables, TOKEN_ROW } from '../../rows/record-columns.ts';
import { MAX_ROW, storedBytes, storedNumber } from '../../rows/stored-value.ts';
import type { Connection } from '../file/driver.ts';
import { readHeader, writeHeader } from '../file/header-table.ts';
import { FILE_ROW } from '../file/schema.ts';
import type { ContainerSets } from './container-sets.ts';
import { TABLES_OF_TENANT } from './tenant-rows.ts';
import { uuid, uuidKey } from './uuid-bytes.ts';

export const FILE_TABLES = recordTables(uuid);

export function fileDialect(connection: Connection, sets: ContainerSets): Dialect {
  return {
    tables: FILE_TABLES,
    uuidKey,
    among(column, type, values) {
      const list = type === 'uuid' ? values.filter((id) => uuidKey(`${id}`) !== null) : values;
      const value = raw(type === 'uuid' ? "unhex(value, '-')" : 'value');
      return sql`${raw(column)} IN (SELECT ${value} FROM json_each(${JSON.stringify(list)}))`;
    },
    lookup: (table, alias, condition, join = 'INNER') =>
      sql`${raw(`${join === 'INNER' ? 'CROSS' : join} JOIN ${table} ${alias} ON`)} ${condition}`,
    by: (index) => raw(`INDEXED BY ${index}`),

    tokenColumns: `${TOKEN_ROW.of('t')}, t.token`,
    /** Throws `integrity_failure` for a number above `MAX_ROW`, which may name another row. */
    toToken(tenant_id, row) {
      if (storedNumber(row[TOKEN_ROW.names.length]) > MAX_ROW) throw new Problem('integrity_failure');
      return TOKEN_ROW.read(row, { tenant_id });
    },
    blindColumns: 't.blinds, t.set_number',
    toBlinds(tenant, row) {
      const [blinds, set_number] = row.slice(-2);
      return sets.allBlinds(tenant, { blinds: storedBytes(blinds), set_number: storedNumber(set_number) });
    },
    liveTokens: ['token', 'TRUE'],
    tombstones: ['tombstone', 'TRUE'],
    counters: `(SELECT *, iif(type > 0, count, 0) AS live, iif(type = 0, count, 0) AS active, at AS last_created_at
      FROM counter)`,

    lastTenant: `SELECT max(ifnull(max(tenant), 0), ifnull((SELECT max(seq) FROM sqlite_sequence WHERE name = 'tenant'), 0))
      FROM tenant`,
    hasNewestKeys: false,
    removals: TABLES_OF_TENANT.map((table) => `DELETE FROM ${table} WHERE tenant = +?`),
    keyRemovals: ['DELETE FROM tenant_key WHERE tenant = +? AND key_id = +?'],

    rewrapped: (keys, generation) =>
      keys.map(
        (key) => sql`UPDATE tenant_key SET wrapped = ${key.wrapped}, generation = ${key.generation}
          WHERE tenant = (SELECT tenant FROM tenant WHERE id = ${uuidKey(key.tenant_id)}) AND key_id = ${key.key_id}
            AND generation = ${generation} RETURNING 1`,
      ),
    sweep: { table: 'counter', sweptAt: 'at', clockNote: 'clock', isRow: FILE_ROW },
    // A file reads its header at once.
    *readHeader() {
      yield [];
      return readHeader(connection);
    },
    *writeHeader(header) {
      yield [];
      writeHeader(connection, header);
    },
  };
}
