import type { Keyring } from '../ports.ts';
import type { AuthorityScan } from './ports.ts';
import { addDigests, authorityRecords, type DigestedTable, digestOf, type RecordChange } from './record-digest.ts';

interface TenantState {
  revision: number;
  /** The sum of the hashes of its records. */
  sum: bigint;
  /** The row of the last change of the tenant itself or of its keys; for an older one, the row up to which it is known. */
  changed: number;
  /** Set if records of the tenant differ from the audit, and it is unknown which. */
  isClosed?: boolean;
  readonly keys: Set<string>;
  readonly applications: Map<string, number>;
  /** The API keys. */
  readonly application_keys: Map<string, number>;
}

function newTenant(): TenantState {
  return { revision: 0, sum: 0n, changed: 0, keys: new Set(), applications: new Map(), application_keys: new Map() };
}

/** Returns the revisions of a tenant's applications or API keys; undefined for other tables. */
function recordsOf(tenant: TenantState, table: DigestedTable): Map<string, number> | undefined {
  if (table === 'application') return tenant.applications;
  return table === 'application_key' ? tenant.application_keys : undefined;
}

/** The revision of each record of authority, and their digest. */
export type AuthorityMap = ReturnType<typeof createAuthorityMap>;

export function createAuthorityMap(keyring: Pick<Keyring, 'recordHash'>) {
  const tenants = new Map<string, TenantState>();
  /** The hash of the header. */
  let header = 0n;

  function tenantOf(id: string): TenantState {
    const found = tenants.get(id);
    if (found !== undefined) return found;
    const added = newTenant();
    tenants.set(id, added);
    return added;
  }

  /** Applies a change by the row `sequence` of the audit. */
  function apply(change: RecordChange, sequence: number): void {
    const { table, tenant_id, id, to } = change;
    const added = digestOf(keyring, change);
    if (table === 'header') {
      header = addDigests(header, added);
      return;
    }
    const tenant = tenantOf(tenant_id);
    tenant.sum = addDigests(tenant.sum, added);
    const records = recordsOf(tenant, table);
    if (records !== undefined) {
      if (to === 0) records.delete(id);
      else records.set(id, to);
      return;
    }
    tenant.changed = sequence;
    if (table === 'tenant') tenant.revision = to;
    else if (to === 0) tenant.keys.delete(id);
    else tenant.keys.add(id);
  }

  /** Returns the revision of a record; 0 without one. */
  function currentOf({ table, tenant_id, id }: RecordChange): number {
    const tenant = tenants.get(tenant_id);
    if (table === 'tenant') return tenant?.revision ?? 0;
    const records = tenant && recordsOf(tenant, table);
    if (records !== undefined) return records.get(id) ?? 0;
    return tenant?.keys.has(id) ? 1 : 0;
  }

  return {
    apply,

    /** Brings a record to the revision that a change leads to, whatever its revision is. Leaves the header. */
    set(change: RecordChange, sequence: number): void {
      if (change.table !== 'header') apply({ ...change, from: currentOf(change) }, sequence);
    },

    removeTenant(id: string): void {
      tenants.delete(id);
    },

    /** Closes the tenants whose sums differ from these. */
    closeOthers(sums: ReadonlyMap<string, bigint>): void {
      for (const id of new Set([...tenants.keys(), ...sums.keys()])) {
        const tenant = tenantOf(id);
        const sum = sums.get(id) ?? 0n;
        tenant.isClosed = tenant.sum !== sum;
        tenant.sum = sum;
      }
    },

    tenants: (): readonly string[] =>
      [...tenants].filter(([, { revision, isClosed }]) => revision > 0 || isClosed).map(([id]) => id),
    closed: (): readonly string[] => [...tenants].filter(([, { isClosed }]) => isClosed).map(([id]) => id),
    /** Returns the digest of all records. */
    digest: () => [...tenants.values()].reduce((all, { sum }) => addDigests(all, sum), header),
    sumOf: (tenantId: string): bigint => tenants.get(tenantId)?.sum ?? 0n,
    /** Returns the row of the last change of a tenant or of its keys; undefined without the tenant. */
    changedAt: (tenantId: string): number | undefined => tenants.get(tenantId)?.changed,
    /** Returns whether a tenant has exactly these keys. */
    hasKeys(tenantId: string, keys: readonly number[]): boolean {
      const known = tenants.get(tenantId)?.keys;
      return known?.size === keys.length && keys.every((key) => known.has(String(key)));
    },
    /** Returns undefined if the record does not exist, or its tenant is closed. */
    revisionOf(table: 'tenant' | 'application' | 'application_key', tenantId: string, id: string) {
      const tenant = tenants.get(tenantId);
      if (tenant?.isClosed) return undefined;
      return table === 'tenant' ? tenant?.revision : tenant && recordsOf(tenant, table)?.get(id);
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
  map.apply({ table: 'header', tenant_id: '', id: header, from: 0, to: 1 }, sequence);
  for (const record of authorityRecords(scan)) map.apply(record, sequence);
  return map;
}
