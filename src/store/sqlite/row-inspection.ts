import type { InspectedRow } from '../../core/maintenance-ports.ts';
import type { ApplicationRecord, TokenRecord } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { type ApplicationRow, SELECT_APPLICATION, toApplicationRecord } from './application-rows.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';
import type { TenantRows } from './tenant-rows.ts';
import { splitBlinds } from './token-index.ts';
import { TOKEN_COLUMNS, type TokenRow, toStoredToken } from './token-rows.ts';
import { uuidKey, uuidText } from './uuid-bytes.ts';

/** Walks the rows of a tenant as they stand, in order of id. Synchronous. */
export function rowInspection(connection: Connection, tenants: TenantRows) {
  const tokens = once(() =>
    connection.prepare<[number, string, number], TokenRow>(
      `SELECT ${TOKEN_COLUMNS} FROM token INDEXED BY token_id WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?`,
    ),
  );
  const applications = once(() =>
    connection.prepare<[number, Buffer, number], ApplicationRow>(
      `${SELECT_APPLICATION} WHERE a.tenant = ? AND a.id > ? ORDER BY a.id LIMIT ?`,
    ),
  );

  return {
    tokens(tenantId: string, after: string, limit: number): readonly InspectedRow<TokenRecord>[] {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return [];
      return tokens()
        .all(tenant, after, limit)
        .map((row) => ({
          id: row.id,
          record: decoded(() => toStoredToken(tenantId, row).record),
          indexes: splitBlinds(row.blinds),
        }));
    },

    applications(tenantId: string, after: string, limit: number): readonly InspectedRow<ApplicationRecord>[] {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return [];
      return applications()
        .all(tenant, uuidKey(after) ?? Buffer.alloc(0), limit)
        .map((row) => ({ id: uuidText(row.id), record: decoded(() => toApplicationRecord(row)), indexes: [] }));
    },
  };
}

/** Undefined for a number that stands for no type. */
function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof Problem && error.code === 'integrity_failure') return undefined;
    throw error;
  }
}
