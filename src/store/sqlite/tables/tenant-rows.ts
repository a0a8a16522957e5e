import type { EndedRecord } from '../../../core/audit/ports.ts';
import type { KeyIds, TenantRecord, TenantWithKeys, WrappedKey } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { StoredRow } from '../../rows/columns.ts';
import { KEY, tenantColumns } from '../../rows/record-columns.ts';
import { MAX_ROW, storedNumber } from '../../rows/stored-value.ts';
import { KEY_PURPOSE_CODES } from '../../rows/type-codes.ts';
import { type Connection, statements } from '../file/driver.ts';
import { uuid, uuidKey, uuidText } from './uuid-bytes.ts';

/** A removed token, or the tombstone of an earlier one. */
export interface RemovedToken extends EndedRecord {
  readonly table: 'token' | 'tombstone';
}

const TENANT = tenantColumns(uuid);

interface TenantRow extends StoredRow<TenantRecord> {
  readonly tenant: number;
}

const SELECT_TENANT = `SELECT tenant, ${TENANT.of('tenant')} FROM tenant`;

/** The tables that hold tokens and their counters. */
const TABLES_OF_TOKENS = ['token_index', 'container_set', 'token', 'tombstone', 'counter'] as const;

/** All tables with a tenant's rows, children first. */
const TABLES_OF_TENANT = [
  ...TABLES_OF_TOKENS,
  'reply',
  'application_key',
  'application',
  'tenant_key',
  'tenant',
] as const;

/** The functions for the tables `tenant` and `tenant_key`. All are synchronous; writes need a transaction. */
export type TenantRows = ReturnType<typeof tenantRows>;

export function tenantRows(connection: Connection) {
  const { rows, value } = statements(connection);
  const numberOf = value<[Buffer | null], number>('SELECT tenant FROM tenant WHERE id = +?');
  const byId = rows<[Buffer | null], TenantRow>(`${SELECT_TENANT} WHERE id = +?`);
  const byNumber = rows<[number], TenantRow>(`${SELECT_TENANT} WHERE tenant = +?`);
  const all = rows<[], TenantRow>(`${SELECT_TENANT} ORDER BY created_at, id`);
  const keysOf = rows<[number], StoredRow<WrappedKey>>(
    `SELECT ${KEY.of('tenant_key')} FROM tenant_key WHERE tenant = +? ORDER BY key_id`,
  );
  const insertRow = rows<unknown[]>(TENANT.insertInto('tenant'));
  const lastNumber = value<[], unknown>(
    "SELECT max(ifnull(max(tenant), 0), ifnull((SELECT max(seq) FROM sqlite_sequence WHERE name = 'tenant'), 0)) FROM tenant",
  );
  const insertKey = rows<unknown[]>(KEY.insertInto('tenant_key', 'tenant'));
  const replaceRow = rows<unknown[]>(`UPDATE tenant SET ${TENANT.assigned()} WHERE id = +? AND revision = +?`);
  const generation = value<[], number>('SELECT generation FROM header');
  const tokenStates = rows<[number, number], RemovedToken>(
    `SELECT 'token' AS "table", id, revision FROM token WHERE tenant = +?
     UNION ALL SELECT 'tombstone', id, 1 FROM tombstone WHERE tenant = +?`,
  );
  const newestKey = value<[number, number], number | null>(
    'SELECT max(key_id) FROM tenant_key WHERE tenant = +? AND purpose = +?',
  );

  /** Returns the tenant's number inside the file, or undefined if the tenant does not exist. */
  function find(id: string): number | undefined {
    return numberOf().get(uuidKey(id));
  }

  function withKeys(row: TenantRow): TenantWithKeys {
    const keys = keysOf().all(row.tenant);
    return { tenant: TENANT.read(row, {}), keys: keys.map((key) => KEY.read(key, {})) };
  }

  function addKey(tenant: number | bigint, key: WrappedKey): void {
    // Reject a key that is wrapped with a former master key: the current one cannot unwrap it.
    if (key.generation !== generation().get()) throw new Problem('write_conflict');
    insertKey().run(...KEY.values(key), tenant);
  }

  /**
   * Throws `write_conflict` if the record does not use the tenant's newest keys. Older keys may be destroyed, and the
   * record with them.
   */
  function requireNewestKeys(tenant: number, { key_id, index_key_id }: Pick<KeyIds, 'key_id'> & Partial<KeyIds>): void {
    const current = newestKey().get(tenant, KEY_PURPOSE_CODES.data) === key_id;
    const found = index_key_id === undefined || newestKey().get(tenant, KEY_PURPOSE_CODES.index) === index_key_id;
    if (!current || !found) throw new Problem('write_conflict');
  }

  const removeFrom = (table: string, tenant: number): number =>
    connection.prepare<[number]>(`DELETE FROM ${table} WHERE tenant = +?`).run(tenant).changes;

  /** Returns the rows of all tenants, oldest first. Omits rows with a damaged id. */
  const validRows = () =>
    all()
      .all()
      .filter(({ id }) => Buffer.isBuffer(id) && id.length === 16);

  return {
    find,
    addKey,
    requireNewestKeys,

    /**
     * Returns the tenant's number for a write. Throws `unauthenticated` if the tenant was removed, since its API keys
     * are then invalid.
     */
    need(id: string): number {
      const tenant = find(id);
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

    /** Returns the revision and the keys of each tenant. Omits only tenants with a damaged id. */
    revisions: () =>
      validRows().map(({ tenant, id, revision }) => ({
        id: uuidText(id as Buffer),
        revision: Number(revision),
        keys: keysOf()
          .all(tenant)
          .map(({ key_id }) => Number(key_id)),
      })),

    listIds(): readonly string[] {
      return validRows().map(({ id }) => uuid.read(id));
    },

    /** Inserts a tenant. Throws `integrity_failure` if an edit of the file has left no number for it. */
    insert(record: TenantRecord, keys: readonly WrappedKey[]): void {
      if (storedNumber(lastNumber().get()) >= MAX_ROW) throw new Problem('integrity_failure');
      const { lastInsertRowid: tenant } = insertRow().run(...TENANT.values(record));
      for (const key of keys) addKey(tenant, key);
      requireNewestKeys(Number(tenant), record);
    },

    replace(record: TenantRecord, expectedRevision: number): boolean {
      const tenant = find(record.id);
      if (tenant === undefined) return false;
      requireNewestKeys(tenant, record);
      const { changes } = replaceRow().run(...TENANT.changes(record), uuidKey(record.id), expectedRevision);
      return changes > 0;
    },

    /** Removes all tokens of a tenant. Returns their number. */
    empty(tenant: number): number {
      const removed = new Map(TABLES_OF_TOKENS.map((table) => [table, removeFrom(table, tenant)]));
      return removed.get('token') ?? 0;
    },

    /** Yields the tokens and tombstones of a tenant. No row may change meanwhile. */
    *tokensOf(tenant: number): Generator<RemovedToken> {
      yield* tokenStates().iterate(tenant, tenant);
    },

    remove(id: string): boolean {
      const tenant = find(id);
      if (tenant === undefined) return false;
      for (const table of TABLES_OF_TENANT) removeFrom(table, tenant);
      return true;
    },
  };
}
