import { untilSwapped } from '../compare-and-swap.ts';
import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import { openTenant, sealTenant, showTenant } from './opened-tenant.ts';

/** Update Tenant (§4.3): without `settings` the old ones stay (decisions §8). */
export const updateTenant: Handler<'updateTenant'> = async ({ body }, { application, tenant, trail }, world) => {
  const { id } = tenant.record;
  const updated = await untilSwapped(async () => {
    const found = await world.store.findTenant(id);
    // Deleted since the caller was authenticated: its key is no longer one.
    if (!found) throw new Problem('unauthenticated');
    const { record, details } = openTenant(tenant.keyring, id, found.tenant);
    const next = sealTenant(
      tenant.keyring,
      {
        ...record,
        modified_by: application.record.id,
        modified_at: world.clock.now(),
        revision: record.revision + 1,
      },
      { name: body.name, settings: body.settings ?? details.settings },
    );
    const audit = trail.changed([], next.record.revision);
    return (await world.store.replaceTenant(next.record, record.revision, audit)) ? next : undefined;
  });
  return showTenant(updated);
};
