import type { Keyring } from '../ports.ts';
import { addDigests } from './digest.ts';
import type { AuthorityScan } from './ports.ts';
import { type AuthorityTable, digestOf, type RecordChange } from './record-digest.ts';

interface TenantState {
  revision: number;
  /** The sum of the hashes of its records. */
  sum: bigint;
  /** The row of the last change of the tenant itself or of its keys; for an older one, the row up to which it is known. */
  changed: number;
  readonly keys: Set<string>;
  readonly applications: Map<string, number>;
}

/** The revision of each record of authority, and their digest. */
export type AuthorityMap = ReturnType<typeof createAuthorityMap>;

export function createAuthorityMap(keyring: Pick<Keyring, 'recordHash'>) {
  const tenants = new Map<string, TenantState>();
  let header: string | undefined;
  let digest = 0n;

  function tenantOf(id: string): TenantState {
    const found = tenants.get(id) ?? { revision: 0, sum: 0n, changed: 0, keys: new Set(), applications: new Map() };
    tenants.set(id, found);
    return found;
  }

  return {
    /** Applies a change by the row `sequence` of the audit. */
    apply(change: RecordChange, sequence: number): void {
      const { table, tenant_id, id, to } = change;
      const added = digestOf(keyring, change);
      digest = addDigests(digest, added);
      if (table === 'header') {
        if (to > 0) header = id;
        return;
      }
      const tenant = tenantOf(tenant_id);
      tenant.sum = addDigests(tenant.sum, added);
      if (table === 'application') {
        if (to === 0) tenant.applications.delete(id);
        else tenant.applications.set(id, to);
        return;
      }
      tenant.changed = sequence;
      if (table === 'tenant') tenant.revision = to;
      else if (to === 0) tenant.keys.delete(id);
      else tenant.keys.add(id);
    },

    removeTenant(id: string): void {
      digest = addDigests(digest, -(tenants.get(id)?.sum ?? 0n));
      tenants.delete(id);
    },

    digest: () => digest,
    header: () => header,
    sumOf: (tenantId: string): bigint => tenants.get(tenantId)?.sum ?? 0n,
    /** Returns the row of the last change of a tenant or of its keys; undefined without the tenant. */
    changedAt: (tenantId: string): number | undefined => tenants.get(tenantId)?.changed,
    /** Returns whether a tenant has exactly these keys. */
    hasKeys(tenantId: string, keys: readonly number[]): boolean {
      const known = tenants.get(tenantId)?.keys;
      return known?.size === keys.length && keys.every((key) => known.has(String(key)));
    },
    /** Returns undefined if the record does not exist. */
    revisionOf(table: Extract<AuthorityTable, 'tenant' | 'application'>, tenantId: string, id: string) {
      const tenant = tenants.get(tenantId);
      return table === 'tenant' ? tenant?.revision : tenant?.applications.get(id);
    },
  };
}

/** Returns the map of the records that a store has after the row `sequence`. `header` is the mark of its header. */
export function scannedMap(
  keyring: Pick<Keyring, 'recordHash'>,
  scan: AuthorityScan,
  header: string,
  sequence: number,
): AuthorityMap {
  const map = createAuthorityMap(keyring);
  const add = (record: Omit<RecordChange, 'from'>) => map.apply({ ...record, from: 0 }, sequence);
  add({ table: 'header', tenant_id: '', id: header, to: 1 });
  for (const { id, revision, keys } of scan.tenants) {
    add({ table: 'tenant', tenant_id: id, id, to: revision });
    for (const key of keys) add({ table: 'tenant_key', tenant_id: id, id: String(key), to: 1 });
  }
  for (const { tenant_id, id, revision } of scan.applications) {
    add({ table: 'application', tenant_id, id, to: revision });
  }
  return map;
}
