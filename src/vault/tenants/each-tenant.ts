import type { Tenant } from '../../contract/tenant.ts';
import { Fault } from '../../core/fault.ts';
import { isDamage } from '../../core/problem.ts';
import { noSuchTenant } from '../../core/tenants/no-such-tenant.ts';
import { showTenant } from '../../core/tenants/tenant-codec.ts';
import type { KeyHolder } from '../key-holder.ts';
import { findSoundTenant } from './find-sound-tenant.ts';

type TenantParts = Pick<KeyHolder, 'store' | 'keyring' | 'follower'>;

/** The member of a result that names the damaged tenants, which the result omits. */
export interface DamagedTenants {
  /** The ids. Absent if no tenant is damaged. */
  readonly damaged?: readonly string[];
}

/**
 * Runs `work` for the given tenant, or for all tenants, oldest first, if none is given. Resolves to its results,
 * without those that are undefined. Work on all tenants that rejects with `integrity_failure` for one goes on with the
 * others; a tenant without a row is among the damaged ones. Rejects as `tenantIds` does, and with `integrity_failure`
 * if the log is damaged.
 */
export async function eachTenant<T>(
  parts: TenantParts,
  named: string | undefined,
  work: (id: string) => Promise<T | undefined>,
): Promise<{ readonly done: readonly T[] } & DamagedTenants> {
  const done: T[] = [];
  const damaged = named === undefined ? [...(await missingTenants(parts))] : [];
  for (const id of await tenantIds(parts, named)) {
    try {
      const result = await work(id);
      if (result !== undefined) done.push(result);
    } catch (error) {
      if (named !== undefined || !isDamage(error)) throw error;
      damaged.push(id);
    }
  }
  return { done, ...(damaged.length > 0 && { damaged }) };
}

/** The tenants of a vault that are not damaged, oldest first, and the ids of the others. */
export interface ListedTenants extends DamagedTenants {
  readonly tenants: readonly Tenant[];
}

/** Resolves to the tenants of the vault. Rejects with `integrity_failure` if the log is damaged. */
export async function listTenants(parts: TenantParts): Promise<ListedTenants> {
  const { done, ...damaged } = await eachTenant(parts, undefined, async (id) => {
    const found = await findSoundTenant(parts, id);
    return found && showTenant(found);
  });
  return { tenants: done, ...damaged };
}

/** Resolves to the ids of the tenants that the audit knows and the store lacks. */
export async function missingTenants({
  store,
  follower,
}: Pick<KeyHolder, 'store' | 'follower'>): Promise<readonly string[]> {
  await follower.follow();
  const known = follower.tenants();
  const listed = new Set(await store.listTenantIds());
  const missing = known.filter((id) => !listed.has(id));
  if (missing.length === 0) return [];
  // They may have been deleted meanwhile.
  await follower.follow();
  const remaining = new Set(follower.tenants());
  return missing.filter((id) => remaining.has(id));
}

/**
 * Resolves to the id of the tenant with this id or name, or to the ids of all tenants if none is given. Rejects with the
 * fault `not_found` for an unknown one, and with `usage` if several have the name.
 */
export async function tenantIds(parts: TenantParts, named: string | undefined): Promise<readonly string[]> {
  const all = await parts.store.listTenantIds();
  if (named === undefined) return all;
  const wanted = named.toLowerCase();
  if (all.includes(wanted)) return [wanted];
  const { tenants } = await listTenants(parts);
  const ids = tenants.filter(({ name }) => name === named).map(({ id }) => id);
  if (ids.length === 0) throw noSuchTenant();
  if (ids.length === 1) return ids;
  throw new Fault('usage', `${ids.length} tenants have this name`, { hint: 'name the tenant by its id', ids });
}

/**
 * Resolves to the id of the given tenant, or of the only tenant if none is given. Rejects as `tenantIds` does, and with
 * `usage` unless the vault has exactly one tenant.
 */
export async function onlyTenant(parts: TenantParts, named: string | undefined): Promise<string> {
  const [tenant, ...others] = await tenantIds(parts, named);
  if (tenant !== undefined && others.length === 0) return tenant;
  const count = tenant === undefined ? 'no tenant' : `${others.length + 1} tenants`;
  throw new Fault('usage', `--tenant is required: this vault has ${count}`, {
    hint: 'list them with `vault tenant list`',
  });
}
