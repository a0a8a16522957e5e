import type { PresentedToken } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { ScannedToken } from '../../../core/scan-ports.ts';
import { number, optional } from '../../rows/columns.ts';
import { isStorableText, storedBytes, storedNumber, storedText } from '../../rows/stored-value.ts';
import { type Connection, statements } from '../file/driver.ts';

/** A row with the columns of `PRESENTED_COLUMNS`. The driver creates lists faster than objects. */
export type PresentedRow = readonly [
  id: string,
  expires_at: number | null,
  active_month: number,
  clearLength: number,
  presentedLength: number,
  /** The bytes of `clear`, `presented` and `full`, concatenated. */
  bytes: Buffer,
];

/** SQLite returns one blob faster than three. A damaged length shifts the values after it, so they fail to decrypt. */
export const PRESENTED_COLUMNS = `t.id, t.expires_at, t.active_month, length(t.clear), length(t.presented),
  CAST(t.clear || t.presented || t.full AS BLOB)`;

/** The same columns, but without `full`. */
const SCANNED_COLUMNS = PRESENTED_COLUMNS.replace(' || t.full', '');

const optionalNumber = optional(number);

/** The read functions for the table `token`. All are synchronous. */
export type PresentedTokenRows = ReturnType<typeof presentedTokenRows>;

export function presentedTokenRows(connection: Connection) {
  const { lists } = statements(connection);
  const byId = lists<[number, string], PresentedRow>(
    `SELECT ${PRESENTED_COLUMNS} FROM token t WHERE t.tenant = +? AND t.id = +?`,
  );
  const byNumbers = (columns: string) =>
    lists<[string, number], PresentedRow>(
      `SELECT ${columns} FROM json_each(?) j CROSS JOIN token t ON t.token = j.value WHERE t.tenant = +? ORDER BY j.key`,
    );
  const presented = byNumbers(PRESENTED_COLUMNS);
  const scanned = byNumbers(SCANNED_COLUMNS);

  function getRows(
    query: typeof presented,
    tenantId: string,
    tenant: number,
    numbers: readonly number[],
  ): PresentedToken[] {
    const rows = query().all(JSON.stringify(numbers), tenant);
    // An index entry without a row means that the file was altered.
    if (rows.length !== numbers.length) throw new Problem('integrity_failure');
    return rows.map((row) => toPresentedToken(tenantId, row));
  }

  return {
    /** Returns the token with this id. Like `getAll` and `scanAll`, also returns expired tokens. */
    find(tenantId: string, tenant: number, id: string): PresentedToken | undefined {
      if (!isStorableText(id)) return undefined;
      const row = byId().get(tenant, id);
      return row && toPresentedToken(tenantId, row);
    },

    /** Returns the tokens with these numbers, in the same order. Throws `integrity_failure` for a missing row. */
    getAll: (tenantId: string, tenant: number, numbers: readonly number[]) =>
      getRows(presented, tenantId, tenant, numbers),

    /** Returns the tokens with these numbers without their data. */
    scanAll: (tenantId: string, tenant: number, numbers: readonly number[]): readonly ScannedToken[] =>
      getRows(scanned, tenantId, tenant, numbers),
  };
}

/** Decodes a row. Throws `integrity_failure` for a damaged row, such as one that a join left empty. */
export function toPresentedToken(tenantId: string, row: PresentedRow): PresentedToken {
  const { buffer, byteOffset, length } = storedBytes(row[5]);
  // Faster than `subarray`. Keep the ends within the bytes: a damaged row may report any lengths.
  const slice = (from: number, to: number) => new Uint8Array(buffer, byteOffset + from, to - from);
  const presentedAt = Math.min(storedNumber(row[3]), length);
  const fullAt = Math.min(presentedAt + storedNumber(row[4]), length);
  return {
    id: storedText(row[0]),
    tenant_id: tenantId,
    expires_at: optionalNumber.read(row[1]),
    active_month: storedNumber(row[2]),
    clear: slice(0, presentedAt),
    presented: slice(presentedAt, fullAt),
    full: slice(fullAt, length),
  };
}
