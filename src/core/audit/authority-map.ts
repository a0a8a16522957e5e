import type { Keyring } from '../ports.ts';
import type { AuthorityScan, AuthorityTable, RecordChange } from './ports.ts';
import { addDigests, authorityRecords, digestOf } from './record-digest.ts';

type TenantTable = Exclude<AuthorityTable, 'header'>;

interface TenantState {
  /** The sum of the hashes of its records. */
  sum: bigint;
  /** The row of the last change of the tenant itself or of its keys; for an older one, the row up to which it is known. */
  changed: number;
  /** Set if records of the tenant differ from the audit, and it is unknown which. */
  isClosed?: boolean;
  /** The revision of each record, by id. */
  readonly records: Readonly<Record<TenantTable, Map<string, number>>>;
}

/** An application or an API key at the state in which it was read. */
export interface StampedRecord {
  readonly table: 'application' | 'application_key';
  readonly id: string;
  readonly revision: number;
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
    const records = { tenant: new Map(), tenant_key: new Map(), application: new Map(), application_key: new Map() };
    const added = { sum: 0n, changed: 0, records };
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
    // Only records of authority are applied.
    const records = tenant.records[table as TenantTable];
    if (to === 0) records.delete(id);
    else records.set(id, to);
    if (table === 'tenant' || table === 'tenant_key') tenant.changed = sequence;
  }

  return {
    apply,

    /** Brings a record to the revision that a change leads to, whatever its revision is. Leaves the header. */
    set(change: RecordChange, sequence: number): void {
      const { table, tenant_id, id } = change;
      const from = tenants.get(tenant_id)?.records[table as TenantTable]?.get(id) ?? 0;
      if (table !== 'header') apply({ ...change, from }, sequence);
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
      [...tenants].filter(([, { records, isClosed }]) => records.tenant.size > 0 || isClosed).map(([id]) => id),
    closed: (): readonly string[] => [...tenants].filter(([, { isClosed }]) => isClosed).map(([id]) => id),
    /** Returns the digest of all records. */
    digest: () => [...tenants.values()].reduce((all, { sum }) => addDigests(all, sum), header),
    sumOf: (tenantId: string): bigint => tenants.get(tenantId)?.sum ?? 0n,
    /** Returns the row of the last change of a tenant or of its keys; undefined without the tenant. */
    changedAt: (tenantId: string): number | undefined => tenants.get(tenantId)?.changed,
    /** Returns whether a tenant has exactly these keys. */
    hasKeys(tenantId: string, keys: readonly number[]): boolean {
      const known = tenants.get(tenantId)?.records.tenant_key;
      return known?.size === keys.length && keys.every((key) => known.has(String(key)));
    },
    /** Returns whether these records are as they were read, and the tenant and its keys as at the row `changed`. */
    isUnchanged(tenantId: string, changed: number, read: readonly StampedRecord[]): boolean {
      const tenant = tenants.get(tenantId);
      if (tenant?.changed !== changed || tenant.isClosed) return false;
      return read.every(({ table, id, revision }) => tenant.records[table].get(id) === revision);
    },
    /** Returns undefined if the record does not exist, or its tenant is closed. */
    revisionOf(table: 'tenant' | 'application' | 'application_key', tenantId: string, id: string) {
      const tenant = tenants.get(tenantId);
      return tenant?.isClosed ? undefined : tenant?.records[table].get(id);
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
