import { MAX_LISTED } from '../../contract/limits.ts';
import type { Instant, PresentedToken, Store, TokenRecord } from '../../core/ports.ts';
import type { ScannedToken } from '../../core/scan-ports.ts';
import { TOKEN_ROW } from '../rows/record-columns.ts';
import type { Row } from '../rows/store-steps.ts';
import {
  isStorableText,
  optionally,
  storedBytes,
  storedMonth,
  storedNumber,
  storedText,
} from '../rows/stored-value.ts';
import type { Connections } from './connections.ts';
import { named, type Statement } from './sql-client.ts';
import { blindText, uuidKey } from './uuid-text.ts';

/** The columns of a live row `t` of `token`, for `toTokenRecord`. SQL reserves the word `full`. */
export const TOKEN_COLUMNS = TOKEN_ROW.of('t').replace('t.full', 't.revealed');

const PRESENTED_COLUMNS = 't.id, t.expires_at, t.active_month, t.clear, t.presented, t.revealed';
/** The same columns for a page, where long values are empty. */
export const PAGE_COLUMNS = PRESENTED_COLUMNS.replace(
  /t\.(?:presented|revealed)/g,
  `CASE WHEN length($&) > ${MAX_LISTED} THEN '' ELSE $& END`,
);
/** The same columns without the last one. */
export const SCANNED_COLUMNS = PAGE_COLUMNS.replace(/, CASE WHEN length\(t\.revealed.*END/, '');

const optionalNumber = optionally(storedNumber);

/** Decodes a row that begins with `TOKEN_COLUMNS`. Throws `integrity_failure` for values that a vault never writes. */
export function toTokenRecord(tenantId: string, row: Row): TokenRecord {
  return TOKEN_ROW.read(row, { tenant_id: tenantId });
}

/** Decodes a row that begins with `SCANNED_COLUMNS`. */
export function toScannedToken(tenantId: string, row: Row): ScannedToken {
  const [id, expires_at, active_month, clear, presented] = row;
  return {
    id: storedText(id),
    tenant_id: tenantId,
    expires_at: optionalNumber(expires_at),
    active_month: storedMonth(active_month),
    clear: storedBytes(clear),
    presented: storedBytes(presented),
  };
}

/** Decodes a row that begins with `PRESENTED_COLUMNS` or `PAGE_COLUMNS`. */
export function toPresentedToken(tenantId: string, row: Row): PresentedToken {
  return { ...toScannedToken(tenantId, row), full: storedBytes(row[5]) };
}

/** OFFSET 0 hides the other conditions: a plan made while the table is empty would take any index that fits. */
function byId(columns: string): string {
  return `SELECT ${columns} FROM vault.tenant n,
  LATERAL (SELECT * FROM vault.token WHERE tenant = n.tenant AND id = $2 OFFSET 0) t
WHERE n.id = $1 AND t.deleted_at IS NULL`;
}

/**
 * Returns the query for the oldest live token of a tenant with a blind index, other than `except`. It reads the index
 * of each container set in order of time, and stops after the tokens that share the time of the first live one.
 */
export function oldestWith(of: Readonly<Record<'tenant' | 'blind' | 'except' | 'now', string>>): string {
  return `SELECT ${TOKEN_COLUMNS} FROM (SELECT 0::smallint UNION ALL
      SELECT number FROM vault.container_set WHERE tenant = ${of.tenant}) s (number),
    LATERAL (SELECT t.* FROM (SELECT token, created_at FROM vault.token_index
        WHERE tenant = ${of.tenant} AND blind = ${of.blind} AND set_number = s.number
        ORDER BY created_at, token OFFSET 0) i,
      LATERAL (SELECT * FROM vault.token WHERE token = i.token OFFSET 0) t
      WHERE t.tenant = ${of.tenant} AND t.deleted_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ${of.now})
        AND t.id <> ${of.except}
      ORDER BY i.created_at, t.id LIMIT 1) t
  ORDER BY t.created_at, t.id LIMIT 1`;
}

export const TOKEN_READS = named({
  findToken: byId(TOKEN_COLUMNS),
  findPresentedToken: byId(PRESENTED_COLUMNS),
  findDuplicate: `SELECT d.* FROM vault.tenant n,
  LATERAL (${oldestWith({ tenant: 'n.tenant', blind: '$2', except: '$3', now: '$4' })}) d WHERE n.id = $1`,
});

/** Returns the id for a lookup; null, which equals no id, if the store cannot hold it. */
export function idKey(id: string): string | null {
  return isStorableText(id) ? id : null;
}

export function tokenReads({ read }: Pick<Connections, 'read'>) {
  function finding<T extends { readonly expires_at?: Instant | undefined }>(
    statement: Statement,
    decode: (tenantId: string, row: Row) => T,
  ) {
    return async (tenantId: string, id: string, now: Instant): Promise<T | undefined> => {
      const [row] = await read(statement, [uuidKey(tenantId), idKey(id)]);
      const record = row && decode(tenantId, row);
      return record?.expires_at !== undefined && record.expires_at <= now ? undefined : record;
    };
  }

  return {
    findToken: finding(TOKEN_READS.findToken, toTokenRecord),
    findPresentedToken: finding(TOKEN_READS.findPresentedToken, toPresentedToken),

    async findDuplicate(tenantId, fingerprint, exceptId, now) {
      const values = [uuidKey(tenantId), blindText(fingerprint), idKey(exceptId) ?? '', now];
      const [row] = await read(TOKEN_READS.findDuplicate, values);
      return row && toTokenRecord(tenantId, row);
    },
  } satisfies Partial<Store>;
}
