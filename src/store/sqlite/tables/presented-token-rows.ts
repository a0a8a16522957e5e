import type { PresentedToken } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { type Connection, statements } from '../file/driver.ts';
import { isStorableText, number, optional, storedBytes, storedNumber, storedText, tokenType } from './columns.ts';
import { UUID_LENGTH, uuidKey, uuidTextAt } from './uuid-bytes.ts';

/** What a read can show of a row, in the order of `PRESENTED_COLUMNS`: as a list it is made sooner than as an object. */
type PresentedRow = readonly [
  id: string,
  type: number,
  created_at: number,
  modified_at: number | null,
  expires_at: number | null,
  revision: number,
  key_id: number,
  index_key_id: number,
  active_month: number,
  modifiedByLength: number | null,
  detailsLength: number,
  maskedLength: number | null,
  /** The bytes of `created_by`, `modified_by`, `details`, `masked` and `data`, one after the other. */
  bytes: Buffer,
];

/** SQLite gives one blob sooner than five. A damaged one moves those behind it: then none of them opens. */
const PRESENTED_COLUMNS = `t.id, t.type, t.created_at, t.modified_at, t.expires_at, t.revision, t.key_id, t.index_key_id, t.active_month,
  length(t.modified_by), length(t.details), length(t.masked),
  CAST(t.created_by || ifnull(t.modified_by, x'') || t.details || ifnull(t.masked, x'') || t.data AS BLOB)`;

const optionalNumber = optional(number);

/** The table `token` as reads have it. Synchronous. */
export type PresentedTokenRows = ReturnType<typeof presentedTokenRows>;

export function presentedTokenRows(connection: Connection) {
  const { lists } = statements(connection);
  const byId = lists<[Buffer | null, string], PresentedRow>(
    `SELECT ${PRESENTED_COLUMNS} FROM tenant n CROSS JOIN token t ON t.tenant = n.tenant WHERE n.id = +? AND t.id = +?`,
  );
  const byNumbers = lists<[string, number], PresentedRow>(
    `SELECT ${PRESENTED_COLUMNS} FROM json_each(?) j CROSS JOIN token t ON t.token = j.value WHERE t.tenant = +? ORDER BY j.key`,
  );

  return {
    /** Expired ones too: it is the row that is asked for. So below. */
    find(tenantId: string, id: string): PresentedToken | undefined {
      if (!isStorableText(id)) return undefined;
      const row = byId().get(uuidKey(tenantId), id);
      return row && toPresentedToken(tenantId, row);
    },

    /** The rows of these numbers, in their order. Throws `integrity_failure` when one is not there. */
    getAll(tenantId: string, tenant: number, numbers: readonly number[]): PresentedToken[] {
      const rows = byNumbers().all(JSON.stringify(numbers), tenant);
      // An entry of an index without its row: the file was altered.
      if (rows.length !== numbers.length) throw new Problem('integrity_failure');
      return rows.map((row) => toPresentedToken(tenantId, row));
    },
  };
}

function toPresentedToken(tenantId: string, row: PresentedRow): PresentedToken {
  const buffer = storedBytes(row[12]);
  // Slices of a Uint8Array are faster than those of a Buffer.
  const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
  const modifiedByAt = UUID_LENGTH;
  // What is behind the first bytes of a longer one would be passed over, and nobody would notice it.
  if (row[9] !== null && row[9] !== UUID_LENGTH) throw new Problem('integrity_failure');
  const detailsAt = modifiedByAt + (row[9] === null ? 0 : UUID_LENGTH);
  const maskedAt = detailsAt + storedNumber(row[10]);
  const dataAt = maskedAt + (row[11] === null ? 0 : storedNumber(row[11]));
  return {
    id: storedText(row[0]),
    tenant_id: tenantId,
    type: tokenType.read(row[1]),
    created_by: uuidTextAt(buffer, 0),
    created_at: storedNumber(row[2]),
    modified_by: row[9] === null ? undefined : uuidTextAt(buffer, modifiedByAt),
    modified_at: optionalNumber.read(row[3]),
    expires_at: optionalNumber.read(row[4]),
    revision: storedNumber(row[5]),
    key_id: storedNumber(row[6]),
    index_key_id: storedNumber(row[7]),
    active_month: storedNumber(row[8]),
    details: bytes.subarray(detailsAt, maskedAt),
    masked: row[11] === null ? undefined : bytes.subarray(maskedAt, dataAt),
    data: bytes.subarray(dataAt),
  };
}
