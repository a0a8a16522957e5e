import type { Audit } from '../core/audit/audit.ts';
import type { Follower } from '../core/audit/follower.ts';
import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { Keyring, Store } from '../core/ports.ts';
import { noSuchTenant } from '../core/tenants/no-such-tenant.ts';

/**
 * The parts of an opened vault that a holder of its key uses without the API. Other processes may use the store, too.
 */
export interface KeyHolder {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly follower: Pick<Follower, 'follow' | 'isCurrent' | 'tenants' | 'hasKeys'>;
  readonly audit: Pick<Audit, 'draft' | 'draftAll' | 'draftAuthority' | 'record'>;
}

/**
 * Returns the id of the given tenant, or the ids of all tenants if none is given. Throws the fault `not_found` for an
 * unknown id.
 */
export async function tenantIds(store: Store, tenantId: string | undefined): Promise<readonly string[]> {
  const ids = await store.listTenantIds();
  if (tenantId === undefined) return ids;
  const wanted = tenantId.toLowerCase();
  if (!ids.includes(wanted)) throw noSuchTenant();
  return [wanted];
}

/**
 * Returns the id of the given tenant, or of the only tenant if none is given. Throws `not_found` for an unknown id, and
 * `usage` unless the vault has exactly one tenant.
 */
export async function onlyTenant(store: Store, tenantId: string | undefined): Promise<string> {
  const [tenant, ...others] = await tenantIds(store, tenantId);
  if (tenant !== undefined && others.length === 0) return tenant;
  const count = tenant === undefined ? 'no tenant' : `${others.length + 1} tenants`;
  throw new Fault('usage', `--tenant is required: this vault has ${count}`, {
    hint: 'list them with `vault tenant list`',
  });
}
