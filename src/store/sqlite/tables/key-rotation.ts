import type { KeysOfTenant } from '../../../core/key-holder-ports.ts';
import type { KeyIds, VaultHeader, WrappedKey } from '../../../core/ports.ts';
import { type Connection, statements } from '../file/driver.ts';
import { readHeader, writeHeader } from '../file/header-table.ts';
import type { TenantRows } from './tenant-rows.ts';

/** Key ids only grow, so a row under an older key has a lower key id. */
const IS_STALE = '(key_id < @key_id OR index_key_id < @index_key_id)';

interface StaleQuery extends KeyIds {
  readonly tenant: number;
}

/** Returns the reads and writes of `vault keys`. All are synchronous; writes need a transaction. */
export function keyRotation(connection: Connection, tenants: TenantRows) {
  const { rows, value } = statements(connection);
  const countStale = value<[StaleQuery], number>(
    `SELECT (SELECT ifnull(sum(count), 0) FROM counter WHERE tenant = +@tenant AND type > 0 AND ${IS_STALE})
           + (SELECT count(*) FROM application WHERE tenant = +@tenant AND key_id < @key_id)
           + (SELECT count(*) FROM application_key WHERE tenant = +@tenant AND key_id < @key_id)
           + (SELECT count(*) FROM reply WHERE tenant = +@tenant AND key_id < @key_id)
           + (SELECT count(*) FROM tenant WHERE tenant = +@tenant AND key_id < @key_id)`,
  );
  const keysOf = rows<[number], { readonly key_id: number; readonly purpose: number }>(
    'SELECT key_id, purpose FROM tenant_key WHERE tenant = +?',
  );
  const inUse = value<[Omit<StaleQuery, 'index_key_id'>], number>(
    `SELECT EXISTS (SELECT 1 FROM counter WHERE tenant = +@tenant AND type > 0 AND count <> 0
               AND (key_id = +@key_id OR index_key_id = +@key_id))
           OR EXISTS (SELECT 1 FROM application WHERE tenant = +@tenant AND key_id = +@key_id)
           OR EXISTS (SELECT 1 FROM application_key WHERE tenant = +@tenant AND key_id = +@key_id)
           OR EXISTS (SELECT 1 FROM reply WHERE tenant = +@tenant AND key_id = +@key_id)
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

    /** Replaces the header and wraps all keys again. If it returns false, the caller undoes the transaction. */
    replaceMasterKey(header: VaultHeader, expected: VaultHeader, all: readonly KeysOfTenant[]): boolean {
      const wrapped = all.flatMap(({ tenant_id, keys }) => {
        const tenant = tenants.find(tenant_id);
        return keys.map((key) => ({ tenant, key }));
      });
      if (wrapped.length !== countKeys().get() || !replaceHeader(header, expected)) return false;
      for (const { tenant, key } of wrapped) {
        if (tenant === undefined) return false;
        const { changes } = rewrap().run(key.wrapped, key.generation, tenant, key.key_id, expected.generation);
        // Another process has replaced keys since they were read.
        if (changes === 0) return false;
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
  };
}
