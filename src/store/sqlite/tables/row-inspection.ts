import type { InspectedRow } from '../../../core/maintenance-ports.ts';
import type { ApplicationRecord, TokenRecord, Tombstone } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { type Connection, statements } from '../file/driver.ts';
import { type ApplicationRow, SELECT_APPLICATION, toApplicationRecord } from './application-rows.ts';
import { type StoredRow, storedText } from './columns.ts';
import type { TenantRows } from './tenant-rows.ts';
import { splitBlinds } from './token-index.ts';
import { SELECT_TOKEN, TOMBSTONE, type TokenRow, toStoredToken } from './token-rows.ts';
import { uuidKey, uuidText } from './uuid-bytes.ts';

/** Walks the rows of a tenant as they stand, in order of id. Synchronous. */
export function rowInspection(connection: Connection, tenants: TenantRows) {
  const { rows } = statements(connection);
  const tokens = rows<[number, string, number], TokenRow>(
    `${SELECT_TOKEN} INDEXED BY token_id WHERE tenant = +? AND id > ? ORDER BY id LIMIT +?`,
  );
  const applications = rows<[number, Buffer, number], ApplicationRow>(
    `${SELECT_APPLICATION} WHERE a.tenant = +? AND a.id > ? ORDER BY a.id LIMIT +?`,
  );

  const tombstones = rows<[number, string, number], StoredRow<Omit<Tombstone, 'tenant_id'>>>(
    `SELECT ${TOMBSTONE.of('tombstone')} FROM tombstone
       WHERE tenant = +? AND id > ? ORDER BY id LIMIT +?`,
  );

  return {
    tokens(tenantId: string, after: string, limit: number): readonly InspectedRow<TokenRecord>[] {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return [];
      return tokens()
        .all(tenant, after, limit)
        .map((row) => ({
          id: storedText(row.id),
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

    tombstones(tenantId: string, after: string, limit: number): readonly InspectedRow<Tombstone>[] {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return [];
      return tombstones()
        .all(tenant, after, limit)
        .map((row) => ({
          id: storedText(row.id),
          record: decoded(() => TOMBSTONE.read(row, { tenant_id: tenantId })),
          indexes: [],
        }));
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
