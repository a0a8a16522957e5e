import type { Tenant } from '../contract/tenant.ts';
import type { DamagedTenants } from '../core/maintenance-ports.ts';
import { showTenant } from '../core/tenants/tenant-codec.ts';
import { eachTenant } from './each-tenant.ts';
import { findSoundTenant } from './find-sound-tenant.ts';

/** The tenants of a vault that are not damaged, oldest first, and the ids of the others. */
export interface ListedTenants extends DamagedTenants {
  readonly tenants: readonly Tenant[];
}

/** Resolves to the tenants of the vault. Rejects with `integrity_failure` if the log is damaged. */
export async function listTenants(parts: Parameters<typeof findSoundTenant>[0]): Promise<ListedTenants> {
  const { done, ...damaged } = await eachTenant(parts, undefined, async (id) => {
    const found = await findSoundTenant(parts, id);
    return found && showTenant(found);
  });
  return { tenants: done, ...damaged };
}
