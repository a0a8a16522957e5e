import type { Audit } from '../core/audit/audit.ts';
import { Fault } from '../core/fault.ts';
import type { Clock, Keyring, Store } from '../core/ports.ts';
import { noSuchTenant } from '../core/tenants/no-such-tenant.ts';

/** The parts of an opened vault for the holder of its key, below the API. Other processes may use the store. */
export interface KeyHolder {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'draft' | 'record'>;
}

/** Returns the named tenant's id, or all ids. Throws the fault `not_found` for an unknown id. */
export async function tenantIds(store: Store, tenantId: string | undefined): Promise<readonly string[]> {
  const ids = (await store.listTenants()).map(({ tenant }) => tenant.id);
  if (tenantId === undefined) return ids;
  const wanted = tenantId.toLowerCase();
  if (!ids.includes(wanted)) throw noSuchTenant();
  return [wanted];
}

/** Returns the named tenant's id, or that of the only tenant. Throws `usage` when there are several. */
export async function onlyTenant(store: Store, tenantId: string | undefined): Promise<string> {
  const [tenant, ...others] = await tenantIds(store, tenantId);
  if (tenant !== undefined && others.length === 0) return tenant;
  const count = tenant === undefined ? 'no tenant' : `${others.length + 1} tenants`;
  throw new Fault('usage', `--tenant is required: this vault has ${count}`, {
    hint: 'list them with `vault tenant list`',
  });
}
