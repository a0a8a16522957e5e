import { MAX_LISTED } from '../../../contract/limits.ts';
import type { PresentedToken } from '../../../core/ports.ts';
import { number, optional } from '../../rows/columns.ts';
import { storedBytes, storedMonth, storedNumber, storedText } from '../../rows/stored-value.ts';

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

/** The same columns for a page, where long values are empty. */
export const LISTED_COLUMNS = PRESENTED_COLUMNS.replace(
  /t\.(?:presented|full)/g,
  `CASE WHEN length($&) > ${MAX_LISTED} THEN x'' ELSE $& END`,
);

/** The same columns, but without `full`. */
export const SCANNED_COLUMNS = LISTED_COLUMNS.replace(/ \|\| CASE WHEN length\(t\.full.*END/, '');

const optionalNumber = optional(number);

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
    active_month: storedMonth(row[2]),
    clear: slice(0, presentedAt),
    presented: slice(presentedAt, fullAt),
    full: slice(fullAt, length),
  };
}
