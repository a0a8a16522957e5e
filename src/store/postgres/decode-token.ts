import type { PresentedToken, TokenRecord } from '../../core/ports.ts';
import type { ScannedToken } from '../../core/scan-ports.ts';
import { optionally, storedBytes, storedNumber, storedText } from '../rows/stored-value.ts';
import { storedTokenType } from '../rows/type-codes.ts';
import type { Row } from './sql-client.ts';

/** The columns of a live row `t` of `token`, for `toTokenRecord`. */
export const TOKEN_COLUMNS = `t.id, t.type, t.created_at, t.expires_at, t.revision, t.key_id, t.index_key_id,
  t.active_month, t.clear, t.presented, t.revealed`;

/** The columns for `toScannedToken`. */
export const SCANNED_COLUMNS = 't.id, t.expires_at, t.active_month, t.clear, t.presented';

/** The columns for `toPresentedToken`. */
export const PRESENTED_COLUMNS = `${SCANNED_COLUMNS}, t.revealed`;

const optionalNumber = optionally(storedNumber);

/** Decodes a row that begins with `TOKEN_COLUMNS`. Throws `integrity_failure` for values that a vault never writes. */
export function toTokenRecord(tenantId: string, row: Row): TokenRecord {
  const [id, type, created_at, expires_at, revision, key_id, index_key_id, active_month, ...sealed] = row;
  const [clear, presented, revealed] = sealed;
  return {
    id: storedText(id),
    tenant_id: tenantId,
    type: storedTokenType(type),
    created_at: storedNumber(created_at),
    expires_at: optionalNumber(expires_at),
    revision: storedNumber(revision),
    key_id: storedNumber(key_id),
    index_key_id: storedNumber(index_key_id),
    active_month: storedNumber(active_month),
    clear: storedBytes(clear),
    presented: storedBytes(presented),
    full: storedBytes(revealed),
  };
}

/** Decodes a row that begins with `SCANNED_COLUMNS`. */
export function toScannedToken(tenantId: string, row: Row): ScannedToken {
  const [id, expires_at, active_month, clear, presented] = row;
  return {
    id: storedText(id),
    tenant_id: tenantId,
    expires_at: optionalNumber(expires_at),
    active_month: storedNumber(active_month),
    clear: storedBytes(clear),
    presented: storedBytes(presented),
  };
}

/** Decodes a row that begins with `PRESENTED_COLUMNS`. */
export function toPresentedToken(tenantId: string, row: Row): PresentedToken {
  return { ...toScannedToken(tenantId, row), full: storedBytes(row[5]) };
}
