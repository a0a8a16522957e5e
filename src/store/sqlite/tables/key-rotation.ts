import type { KeysOfTenant, ResealedToken } from '../../../core/maintenance-ports.ts';
import type { ApplicationRecord, KeyIds, TokenRecord, VaultHeader, WrappedKey } from '../../../core/ports.ts';
import { type Connection, statements } from '../file/driver.ts';
import { readHeader, writeHeader } from '../file/header-table.ts';
import { type ApplicationRow, SELECT_APPLICATION, toApplicationRecord } from './application-rows.ts';
import type { TenantRows } from './tenant-rows.ts';
import type { TokenChanges } from './token-changes.ts';
import { SELECT_TOKEN, type TokenRow, toStoredToken } from './token-rows.ts';

/** Sealed bytes that one batch of tokens may hold: what is read, opened, sealed and written in one go. */
const BATCH_BYTES = 1024 * 1024;

/** Key ids only grow, so what is stale is below the current id; both halves walk the index `token_keys`. */
const STALE_TOKENS = `tenant = +@tenant AND key_id < @key_id
  UNION ALL SELECT token FROM token WHERE tenant = +@tenant AND key_id = +@key_id AND index_key_id < @index_key_id`;

interface StaleQuery extends KeyIds {
  readonly tenant: number;
}

/** What `vault keys` does to the tables. Synchronous; what writes needs a transaction around it. */
export function keyRotation(connection: Connection, tenants: TenantRows, changes: TokenChanges) {
  const { rows, value } = statements(connection);
  const staleTokens = rows<[StaleQuery & { readonly limit: number }], TokenRow>(
    `${SELECT_TOKEN} WHERE token IN (SELECT token FROM token WHERE ${STALE_TOKENS} LIMIT +@limit)`,
  );
  const staleApplications = rows<[number, number, number], ApplicationRow>(
    `${SELECT_APPLICATION} WHERE a.tenant = +? AND a.key_id < ? LIMIT +?`,
  );
  const countStale = value<[StaleQuery], number>(
    `SELECT (SELECT count(*) FROM (SELECT token FROM token WHERE ${STALE_TOKENS}))
           + (SELECT count(*) FROM application WHERE tenant = +@tenant AND key_id < @key_id)
           + (SELECT count(*) FROM tenant WHERE tenant = +@tenant AND key_id < @key_id)`,
  );
  const keysOf = rows<[number], { readonly key_id: number; readonly purpose: number }>(
    'SELECT key_id, purpose FROM tenant_key WHERE tenant = +?',
  );
  const inUse = value<[Omit<StaleQuery, 'index_key_id'>], number>(
    `SELECT EXISTS (SELECT 1 FROM token WHERE tenant = +@tenant AND key_id = +@key_id)
           OR EXISTS (SELECT 1 FROM token WHERE tenant = +@tenant AND index_key_id = +@key_id)
           OR EXISTS (SELECT 1 FROM application WHERE tenant = +@tenant AND key_id = +@key_id)
           OR EXISTS (SELECT 1 FROM tenant WHERE tenant = +@tenant AND key_id = +@key_id)`,
  );
  const removeKey = rows<[number, number]>('DELETE FROM tenant_key WHERE tenant = +? AND key_id = +?');
  const rewrap = rows<[Uint8Array, number, number, number, number]>(
    'UPDATE tenant_key SET wrapped = ?, generation = ? WHERE tenant = +? AND key_id = +? AND generation = +?',
  );
  const countKeys = value<[], number>('SELECT count(*) FROM tenant_key');

  function replaceHeader(header: VaultHeader, expected: VaultHeader): boolean {
    const current = readHeader(connection);
    if (current === undefined || Buffer.compare(current.mac, expected.mac) !== 0) return false;
    writeHeader(connection, header);
    return true;
  }

  return {
    replaceHeader,

    replaceMasterKey(header: VaultHeader, expected: VaultHeader, all: readonly KeysOfTenant[]): boolean {
      const wrapped = all.flatMap(({ tenant_id, keys }) => {
        const tenant = tenants.find(tenant_id);
        return keys.map((key) => ({ tenant, key }));
      });
      if (wrapped.length !== countKeys().get() || !replaceHeader(header, expected)) return false;
      for (const { tenant, key } of wrapped) {
        const found =
          tenant !== undefined &&
          rewrap().run(key.wrapped, key.generation, tenant, key.key_id, expected.generation).changes === 1;
        // Undoes the transaction: another process added and removed keys in between.
        if (!found) throw new KeysChanged();
      }
      return true;
    },

    addKey(tenantId: string, key: WrappedKey): boolean {
      const tenant = tenants.find(tenantId);
      const others = tenant === undefined ? [] : keysOf().all(tenant);
      if (tenant === undefined || others.some((other) => other.key_id >= key.key_id)) return false;
      if (key.generation !== readHeader(connection)?.generation) return false;
      tenants.addKey(tenant, key);
      return true;
    },

    removeKey(tenantId: string, keyId: number): boolean {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return false;
      const keys = keysOf().all(tenant);
      const purpose = keys.find((key) => key.key_id === keyId)?.purpose;
      const replaced = keys.some((key) => key.purpose === purpose && key.key_id > keyId);
      if (!replaced || inUse().get({ tenant, key_id: keyId }) === 1) return false;
      return removeKey().run(tenant, keyId).changes === 1;
    },

    countStale(tenantId: string, { key_id, index_key_id }: KeyIds): number {
      const tenant = tenants.find(tenantId);
      return tenant === undefined ? 0 : (countStale().get({ tenant, key_id, index_key_id }) ?? 0);
    },

    staleTokens(tenantId: string, { key_id, index_key_id }: KeyIds, limit: number): readonly TokenRecord[] {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return [];
      const records: TokenRecord[] = [];
      let bytes = 0;
      for (const row of staleTokens().iterate({ tenant, key_id, index_key_id, limit })) {
        const { record } = toStoredToken(tenantId, row);
        records.push(record);
        bytes += record.presented.length + record.full.length;
        if (bytes > BATCH_BYTES) break;
      }
      return records;
    },

    staleApplications(tenantId: string, { key_id }: KeyIds, limit: number): readonly ApplicationRecord[] {
      const tenant = tenants.find(tenantId);
      return tenant === undefined ? [] : staleApplications().all(tenant, key_id, limit).map(toApplicationRecord);
    },

    reseal(tenantId: string, resealed: readonly ResealedToken[]): number {
      const tenant = tenants.find(tenantId);
      if (tenant === undefined) return 0;
      return resealed.filter((change) => changes.reseal(tenantId, tenant, change)).length;
    },
  };
}

/** Thrown inside a transaction to undo it. */
export class KeysChanged extends Error {}
