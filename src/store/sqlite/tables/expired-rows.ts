import type { ExpiredRow, ExpiringRecords } from '../../../core/ports.ts';
import { decoded, MAX_ROW } from '../../rows/stored-value.ts';

/**
 * Selects the expired rows `e` of a table with their tenant, the earliest first. Parameters: now, the rows to skip
 * (JSON), limit. Omits rows with a number that the vault never assigns, which doctor reports: such a number names no row exactly.
 */
export const expiredRows = (table: keyof ExpiringRecords, columns: string): string => `
  SELECT e.${table} AS row, e.tenant, n.id AS tenant_id, ${columns}
  FROM ${table} e INDEXED BY ${table}_expiry CROSS JOIN tenant n ON n.tenant = e.tenant
  WHERE e.expires_at <= ? AND e.${table} BETWEEN 1 AND ${MAX_ROW} AND e.${table} NOT IN (SELECT value FROM json_each(?)) ORDER BY e.expires_at LIMIT +?`;

export function toExpired<Row extends { readonly row: number }, Found>(
  rows: readonly Row[],
  decode: (row: Row) => Found,
): readonly ExpiredRow<Found>[] {
  return rows.map((row) => ({ row: row.row, record: decoded(() => decode(row)) }));
}
