import type { InspectedRow } from '../../core/maintenance-ports.ts';
import type { ApplicationRecord, TokenRecord, Tombstone } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { type ApplicationRow, SELECT_APPLICATION, toApplicationRecord } from './application-rows.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';
import { storedBytes, storedNumber, storedText } from './stored-value.ts';
import type { TenantRows } from './tenant-rows.ts';
import { splitBlinds } from './token-index.ts';
import { TOKEN_COLUMNS, type TokenRow, toStoredToken } from './token-rows.ts';
import { tokenType } from './type-codes.ts';
import { optionalUuidText, uuidKey, uuidText } from './uuid-bytes.ts';

/** Walks the rows of a tenant as they stand, in order of id. Synchronous. */
export function rowInspection(connection: Connection, tenants: TenantRows) {
  const tokens = once(() =>
    connection.prepare<[number, string, number], TokenRow>(
      `SELECT ${TOKEN_COLUMNS} FROM token INDEXED BY token_id WHERE tenant = +? AND id > ? ORDER BY id LIMIT +?`,
    ),
  );
  const applications = once(() =>
    connection.prepare<[number, Buffer, number], ApplicationRow>(
      `${SELECT_APPLICATION} WHERE a.tenant = +? AND a.id > ? ORDER BY a.id LIMIT +?`,
    ),
  );

  const tombstones = once(() =>
    connection.prepare<[number, string, number], TombstoneRow>(
      `SELECT id, type, created_by, created_at, deleted_by, deleted_at, mac FROM tombstone
       WHERE tenant = +? AND id > ? ORDER BY id LIMIT +?`,
    ),
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
          record: decoded(() => toTombstone(tenantId, row)),
          indexes: [],
        }));
    },
  };
}

interface TombstoneRow {
  readonly id: string;
  readonly type: number;
  readonly created_by: Buffer;
  readonly created_at: number;
  readonly deleted_by: Buffer | null;
  readonly deleted_at: number;
  readonly mac: Buffer;
}

function toTombstone(tenantId: string, row: TombstoneRow): Tombstone {
  return {
    tenant_id: tenantId,
    id: row.id,
    type: tokenType(row.type),
    created_by: uuidText(row.created_by),
    created_at: storedNumber(row.created_at),
    deleted_by: optionalUuidText(row.deleted_by),
    deleted_at: storedNumber(row.deleted_at),
    mac: storedBytes(row.mac),
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
