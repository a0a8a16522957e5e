import type { ShownToken } from '../../core/ports.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';
import { optionalBytes, optionalNumber, storedBytes, storedNumber, storedText } from './stored-value.ts';
import { isStorableText } from './token-rows.ts';
import { tokenType } from './type-codes.ts';
import { optionalUuidText, uuidKey, uuidText } from './uuid-bytes.ts';

/** What a read can show of a row, in the order of `SHOWN_COLUMNS`: as a list it is made sooner than as an object. */
type ShownRow = readonly [
  id: string,
  type: number,
  created_by: Buffer,
  created_at: number,
  modified_by: Buffer | null,
  modified_at: number | null,
  expires_at: number | null,
  revision: number,
  key_id: number,
  index_key_id: number,
  active_month: number,
  details: Buffer,
  masked: Buffer | null,
  data: Buffer,
];

const SHOWN_COLUMNS = `t.id, t.type, t.created_by, t.created_at, t.modified_by, t.modified_at, t.expires_at, t.revision, t.key_id,
  t.index_key_id, t.active_month, t.details, t.masked, t.data`;

/** The table `token` as reads have it. Synchronous. */
export type ShownTokenRows = ReturnType<typeof shownTokenRows>;

export function shownTokenRows(connection: Connection) {
  const byId = once(() =>
    connection
      .prepare<[Buffer | null, string], ShownRow>(
        `SELECT ${SHOWN_COLUMNS} FROM tenant n CROSS JOIN token t ON t.tenant = n.tenant WHERE n.id = ? AND t.id = ?`,
      )
      .raw(),
  );
  const byNumber = once(() =>
    connection
      .prepare<[number, number], ShownRow>(`SELECT ${SHOWN_COLUMNS} FROM token t WHERE t.token = ? AND t.tenant = ?`)
      .raw(),
  );

  return {
    /** Expired ones too: it is the row that is asked for. So below. */
    find(tenantId: string, id: string): ShownToken | undefined {
      if (!isStorableText(id)) return undefined;
      const row = byId().get(uuidKey(tenantId), id);
      return row && toShownToken(tenantId, row);
    },

    get(tenantId: string, tenant: number, token: number): ShownToken | undefined {
      const row = byNumber().get(token, tenant);
      return row && toShownToken(tenantId, row);
    },
  };
}

function toShownToken(tenantId: string, row: ShownRow): ShownToken {
  return {
    id: storedText(row[0]),
    tenant_id: tenantId,
    type: tokenType(row[1]),
    created_by: uuidText(row[2]),
    created_at: storedNumber(row[3]),
    modified_by: optionalUuidText(row[4]),
    modified_at: optionalNumber(row[5]),
    expires_at: optionalNumber(row[6]),
    revision: storedNumber(row[7]),
    key_id: storedNumber(row[8]),
    index_key_id: storedNumber(row[9]),
    active_month: storedNumber(row[10]),
    details: storedBytes(row[11]),
    masked: optionalBytes(row[12]),
    data: storedBytes(row[13]),
  };
}
