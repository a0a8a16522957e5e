import type { ExpiredRow, ExpiringRecords, Instant } from '../../../core/ports.ts';
import { decoded } from '../../../core/problem.ts';
import { applicationColumns, applicationKeyColumns, TOKEN_ROW } from '../../rows/record-columns.ts';
import { MAX_ROW } from '../../rows/stored-value.ts';
import { type Connection, statements } from '../file/driver.ts';
import { toApplicationKeyRecord } from './application-key-rows.ts';
import { toApplicationRecord } from './application-rows.ts';
import { type TokenRow, toStoredToken } from './token-rows.ts';
import { uuid, uuidText } from './uuid-bytes.ts';

type Table = keyof ExpiringRecords;
type FindExpired<Found> = (now: Instant, limit: number, skipped: ReadonlySet<number>) => readonly ExpiredRow<Found>[];

/**
 * Selects the expired rows `e` of a table with their tenant, the earliest first. Parameters: now, the rows to skip
 * (JSON), limit. Omits rows with a number that the vault never assigns, which doctor reports: such a number names no row exactly.
 */
const expiredOf = (table: Table, columns: string): string => `
  SELECT e.${table} AS row, e.tenant, n.id AS tenant_id, ${columns}
  FROM ${table} e INDEXED BY ${table}_expiry CROSS JOIN tenant n ON n.tenant = e.tenant
  WHERE e.expires_at <= ? AND e.${table} BETWEEN 1 AND ${MAX_ROW} AND e.${table} NOT IN (SELECT value FROM json_each(?)) ORDER BY e.expires_at LIMIT +?`;

/** Returns the functions that find the expired rows of each table. They are synchronous. */
export function expiredRows(connection: Connection): { readonly [T in Table]: FindExpired<ExpiringRecords[T]> } {
  const { rows } = statements(connection);

  function finding<Row, Found>(table: Table, columns: string, decode: (row: Row) => Found): FindExpired<Found> {
    const find = rows<[number, string, number], Row & { readonly row: number }>(expiredOf(table, columns));
    return (now, limit, skipped) =>
      find()
        .all(now, JSON.stringify([...skipped]), limit)
        .map((row) => ({ row: row.row, record: decoded(() => decode(row)) }));
  }

  const tokenColumns = `e.token, blinds, set_number, ${TOKEN_ROW.of('e')}`;
  return {
    token: finding('token', tokenColumns, (row: TokenRow & { readonly tenant_id: Buffer }) => {
      return toStoredToken(uuidText(row.tenant_id), row).record;
    }),
    application: finding('application', applicationColumns(uuid).of('e'), toApplicationRecord),
    application_key: finding('application_key', applicationKeyColumns(uuid).of('e'), toApplicationKeyRecord),
  };
}
