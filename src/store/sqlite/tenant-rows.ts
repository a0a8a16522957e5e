import type { Authority, TenantRecord, WrappedKey } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';
import { KEY_PURPOSE_CODES, keyPurpose } from './type-codes.ts';
import { optionalUuidBytes, optionalUuidText, uuidBytes, uuidKey, uuidText } from './uuid-bytes.ts';

/** A tenant with its keys, as they are read: in one go. */
export type TenantWithKeys = Pick<Authority, 'tenant' | 'keys'>;

interface TenantRow {
  readonly tenant: number;
  readonly id: Buffer;
  readonly owner_id: Buffer;
  readonly created_by: Buffer | null;
  readonly created_at: number;
  readonly modified_by: Buffer | null;
  readonly modified_at: number | null;
  readonly revision: number;
  readonly details: Buffer;
}

interface KeyRow {
  readonly key_id: number;
  readonly purpose: number;
  readonly wrapped: Buffer;
  readonly created_at: number;
}

const COLUMNS = 'tenant, id, owner_id, created_by, created_at, modified_by, modified_at, revision, details';

/** Everything that hangs on a tenant, children first. */
const TABLES_OF_TENANT = [
  'token_index',
  'token',
  'tombstone',
  'token_count',
  'active_count',
  'application',
  'tenant_key',
  'tenant',
] as const;

/** The tables `tenant` and `tenant_key`. All functions are synchronous and need a transaction where they write. */
export type TenantRows = ReturnType<typeof tenantRows>;

export function tenantRows(connection: Connection) {
  const numberOf = once(() =>
    connection.prepare<[Buffer | null], number>('SELECT tenant FROM tenant WHERE id = ?').pluck(),
  );
  const byId = once(() => connection.prepare<[Buffer | null], TenantRow>(`SELECT ${COLUMNS} FROM tenant WHERE id = ?`));
  const byNumber = once(() =>
    connection.prepare<[number], TenantRow>(`SELECT ${COLUMNS} FROM tenant WHERE tenant = ?`),
  );
  const all = once(() => connection.prepare<[], TenantRow>(`SELECT ${COLUMNS} FROM tenant ORDER BY created_at, id`));
  const keysOf = once(() =>
    connection.prepare<[number], KeyRow>(
      'SELECT key_id, purpose, wrapped, created_at FROM tenant_key WHERE tenant = ? ORDER BY key_id',
    ),
  );
  const insertRow = once(() =>
    connection.prepare<
      [Buffer, Buffer, Buffer | null, number, Buffer | null, number | null, number, Uint8Array],
      number
    >(
      `INSERT INTO tenant (id, owner_id, created_by, created_at, modified_by, modified_at, revision, details)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  );
  const insertKey = once(() =>
    connection.prepare<[number | bigint, number, number, Uint8Array, number]>(
      'INSERT INTO tenant_key (tenant, key_id, purpose, wrapped, created_at) VALUES (?, ?, ?, ?, ?)',
    ),
  );
  const replaceRow = once(() =>
    connection.prepare<[Buffer | null, number | null, number, Uint8Array, Buffer | null, number]>(
      'UPDATE tenant SET modified_by = ?, modified_at = ?, revision = ?, details = ? WHERE id = ? AND revision = ?',
    ),
  );

  function withKeys(row: TenantRow): TenantWithKeys {
    const keys = keysOf()
      .all(row.tenant)
      .map((key): WrappedKey => ({ ...key, purpose: keyPurpose(key.purpose) }));
    return { tenant: toRecord(row), keys };
  }

  return {
    /** The number that stands for the tenant inside the file; undefined when it is gone. */
    find(id: string): number | undefined {
      return numberOf().get(uuidKey(id));
    },

    /** The same for a write. A tenant that is gone leaves nobody who could be the caller (decisions §8). */
    need(id: string): number {
      const tenant = numberOf().get(uuidKey(id));
      if (tenant === undefined) throw new Problem('unauthenticated');
      return tenant;
    },

    findWithKeys(id: string): TenantWithKeys | undefined {
      const row = byId().get(uuidKey(id));
      return row && withKeys(row);
    },

    findWithKeysByNumber(tenant: number): TenantWithKeys | undefined {
      const row = byNumber().get(tenant);
      return row && withKeys(row);
    },

    list(): readonly TenantWithKeys[] {
      return all().all().map(withKeys);
    },

    insert(record: TenantRecord, keys: readonly WrappedKey[]): void {
      const { lastInsertRowid: tenant } = insertRow().run(
        uuidBytes(record.id),
        uuidBytes(record.owner_id),
        optionalUuidBytes(record.created_by),
        record.created_at,
        optionalUuidBytes(record.modified_by),
        record.modified_at ?? null,
        record.revision,
        record.details,
      );
      for (const key of keys) {
        insertKey().run(tenant, key.key_id, KEY_PURPOSE_CODES[key.purpose], key.wrapped, key.created_at);
      }
    },

    replace(record: TenantRecord, expectedRevision: number): boolean {
      const { changes } = replaceRow().run(
        optionalUuidBytes(record.modified_by),
        record.modified_at ?? null,
        record.revision,
        record.details,
        uuidKey(record.id),
        expectedRevision,
      );
      return changes > 0;
    },

    remove(id: string): boolean {
      const tenant = numberOf().get(uuidKey(id));
      if (tenant === undefined) return false;
      for (const table of TABLES_OF_TENANT)
        connection.prepare<[number]>(`DELETE FROM ${table} WHERE tenant = ?`).run(tenant);
      return true;
    },
  };
}

function toRecord(row: TenantRow): TenantRecord {
  return {
    id: uuidText(row.id),
    owner_id: uuidText(row.owner_id),
    created_by: optionalUuidText(row.created_by),
    created_at: row.created_at,
    modified_by: optionalUuidText(row.modified_by),
    modified_at: row.modified_at ?? undefined,
    revision: row.revision,
    details: row.details,
  };
}
