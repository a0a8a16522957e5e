import type { DamagedTenants } from '../core/maintenance-ports.ts';
import { isDamage } from '../core/problem.ts';
import { type KeyHolder, tenantIds } from './key-holder.ts';

/**
 * Runs `work` for the given tenant, or for all tenants, oldest first, if none is given. Resolves to its results, without
 * those that are undefined. Work on all tenants that rejects with `integrity_failure` for one goes on with the others; a
 * tenant without a row is among the damaged ones. Rejects with the fault `not_found` for an unknown id, and with
 * `integrity_failure` if the log is damaged.
 */
export async function eachTenant<T>(
  parts: Pick<KeyHolder, 'store' | 'follower'>,
  tenantId: string | undefined,
  work: (id: string) => Promise<T | undefined>,
): Promise<{ readonly done: readonly T[] } & DamagedTenants> {
  const { store } = parts;
  const done: T[] = [];
  const damaged = tenantId === undefined ? [...(await missingTenants(parts))] : [];
  for (const id of await tenantIds(store, tenantId)) {
    try {
      const result = await work(id);
      if (result !== undefined) done.push(result);
    } catch (error) {
      if (tenantId !== undefined || !isDamage(error)) throw error;
      damaged.push(id);
    }
  }
  return { done, ...(damaged.length > 0 && { damaged }) };
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
  const left = new Set(follower.tenants());
  return missing.filter((id) => left.has(id));
}
