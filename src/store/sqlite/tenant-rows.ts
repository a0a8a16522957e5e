import type { Authority, KeyIds, TenantRecord, WrappedKey } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';
import { optionalNumber, storedBytes, storedInstant, storedNumber } from './stored-value.ts';
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
  readonly key_id: number;
  readonly details: Buffer;
}

interface KeyRow {
  readonly key_id: number;
  readonly purpose: number;
  readonly generation: number;
  readonly wrapped: Buffer;
  readonly created_at: number;
}

const COLUMNS = 'tenant, id, owner_id, created_by, created_at, modified_by, modified_at, revision, key_id, details';

/** What tokens are kept in, and counted by. */
export const TABLES_OF_TOKENS = ['token_index', 'token', 'tombstone', 'token_count', 'active_count'] as const;

/** Everything that hangs on a tenant, children first. */
const TABLES_OF_TENANT = [...TABLES_OF_TOKENS, 'application', 'tenant_key', 'tenant'] as const;

/** The tables `tenant` and `tenant_key`. All functions are synchronous and need a transaction where they write. */
export type TenantRows = ReturnType<typeof tenantRows>;

export function tenantRows(connection: Connection) {
  const numberOf = once(() =>
    connection.prepare<[Buffer | null], number>('SELECT tenant FROM tenant WHERE id = +?').pluck(),
  );
  const byId = once(() =>
    connection.prepare<[Buffer | null], TenantRow>(`SELECT ${COLUMNS} FROM tenant WHERE id = +?`),
  );
  const byNumber = once(() =>
    connection.prepare<[number], TenantRow>(`SELECT ${COLUMNS} FROM tenant WHERE tenant = +?`),
  );
  const all = once(() => connection.prepare<[], TenantRow>(`SELECT ${COLUMNS} FROM tenant ORDER BY created_at, id`));
  const keysOf = once(() =>
    connection.prepare<[number], KeyRow>(
      'SELECT key_id, purpose, generation, wrapped, created_at FROM tenant_key WHERE tenant = +? ORDER BY key_id',
    ),
  );
  const insertRow = once(() =>
    connection.prepare<
      [Buffer, Buffer, Buffer | null, number, Buffer | null, number | null, number, number, Uint8Array],
      number
    >(
      `INSERT INTO tenant (id, owner_id, created_by, created_at, modified_by, modified_at, revision, key_id, details)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  );
  const insertKey = once(() =>
    connection.prepare<[number | bigint, number, number, number, Uint8Array, number]>(
      'INSERT INTO tenant_key (tenant, key_id, purpose, generation, wrapped, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    ),
  );
  const replaceRow = once(() =>
    connection.prepare<[Buffer | null, number | null, number, number, Uint8Array, Buffer | null, number]>(
      `UPDATE tenant SET modified_by = ?, modified_at = ?, revision = ?, key_id = ?, details = ?
       WHERE id = +? AND revision = +?`,
    ),
  );

  const generation = once(() => connection.prepare<[], number>('SELECT generation FROM header').pluck());
  const newestKey = once(() =>
    connection
      .prepare<[number, number], number | null>('SELECT max(key_id) FROM tenant_key WHERE tenant = +? AND purpose = +?')
      .pluck(),
  );

  function withKeys(row: TenantRow): TenantWithKeys {
    const keys = keysOf().all(row.tenant).map(toWrappedKey);
    return { tenant: toRecord(row), keys };
  }

  function addKey(tenant: number | bigint, key: WrappedKey): void {
    // Who wraps with a former master key has not heard of the new one: nobody could unwrap it.
    if (key.generation !== generation().get()) throw new Problem('write_conflict');
    insertKey().run(tenant, key.key_id, KEY_PURPOSE_CODES[key.purpose], key.generation, key.wrapped, key.created_at);
  }

  /** A record under an older key would be lost when that is destroyed, so its writer is sent to read the keys anew. */
  function requireNewestKeys(tenant: number, { key_id, index_key_id }: Pick<KeyIds, 'key_id'> & Partial<KeyIds>): void {
    const current = newestKey().get(tenant, KEY_PURPOSE_CODES.data) === key_id;
    const found = index_key_id === undefined || newestKey().get(tenant, KEY_PURPOSE_CODES.index) === index_key_id;
    if (!current || !found) throw new Problem('write_conflict');
  }

  return {
    addKey,
    requireNewestKeys,

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
        record.key_id,
        record.details,
      );
      for (const key of keys) addKey(tenant, key);
      requireNewestKeys(Number(tenant), record);
    },

    replace(record: TenantRecord, expectedRevision: number): boolean {
      const tenant = numberOf().get(uuidKey(record.id));
      if (tenant !== undefined) requireNewestKeys(tenant, record);
      const { changes } = replaceRow().run(
        optionalUuidBytes(record.modified_by),
        record.modified_at ?? null,
        record.revision,
        record.key_id,
        record.details,
        uuidKey(record.id),
        expectedRevision,
      );
      return changes > 0;
    },

    /** Removes all its tokens; answers how many there were. */
    empty(id: string): number | undefined {
      const tenant = numberOf().get(uuidKey(id));
      if (tenant === undefined) return undefined;
      const removed = TABLES_OF_TOKENS.map((table) => {
        const { changes } = connection.prepare<[number]>(`DELETE FROM ${table} WHERE tenant = +?`).run(tenant);
        return table === 'token' ? changes : 0;
      });
      return Math.max(...removed);
    },

    remove(id: string): boolean {
      const tenant = numberOf().get(uuidKey(id));
      if (tenant === undefined) return false;
      for (const table of TABLES_OF_TENANT)
        connection.prepare<[number]>(`DELETE FROM ${table} WHERE tenant = +?`).run(tenant);
      return true;
    },
  };
}

function toWrappedKey(row: KeyRow): WrappedKey {
  return {
    key_id: storedNumber(row.key_id),
    purpose: keyPurpose(row.purpose),
    generation: storedNumber(row.generation),
    wrapped: storedBytes(row.wrapped),
    created_at: storedInstant(row.created_at),
  };
}

function toRecord(row: TenantRow): TenantRecord {
  return {
    id: uuidText(row.id),
    owner_id: uuidText(row.owner_id),
    created_by: optionalUuidText(row.created_by),
    created_at: storedNumber(row.created_at),
    modified_by: optionalUuidText(row.modified_by),
    modified_at: optionalNumber(row.modified_at),
    revision: storedNumber(row.revision),
    key_id: storedNumber(row.key_id),
    details: storedBytes(row.details),
  };
}
