import type { DamagedTenants } from '../core/maintenance-ports.ts';
import { isDamage } from '../core/problem.ts';
import { type KeyHolder, tenantIds } from './key-holder.ts';

/**
 * Runs `work` for the given tenant, or for all tenants, oldest first, if none is given. Resolves to its results, without
 * those that are undefined. Work on all tenants that rejects with `integrity_failure` for one goes on with the others.
 * Rejects with the fault `not_found` for an unknown id, and with `integrity_failure` if the log is damaged.
 */
export async function eachTenant<T>(
  { store, follower }: Pick<KeyHolder, 'store' | 'follower'>,
  tenantId: string | undefined,
  work: (id: string) => Promise<T | undefined>,
): Promise<{ readonly done: readonly T[] } & DamagedTenants> {
  const done: T[] = [];
  const damaged: string[] = [];
  for (const id of await tenantIds(store, tenantId)) {
    try {
      const result = await work(id);
      if (result !== undefined) done.push(result);
    } catch (error) {
      if (tenantId !== undefined || !isDamage(error)) throw error;
      // A damaged log is the damage of no tenant.
      await follower.follow();
      damaged.push(id);
    }
  }
  return { done, ...(damaged.length > 0 && { damaged }) };
}
