import { checkApplication } from '../access/check-application.ts';
import { normalizeRules } from '../access/normalize-rules.ts';
import { untilSwapped } from '../compare-and-swap.ts';
import type { Handler } from '../handler.ts';
import { findApplication } from './get.ts';
import { sealApplication, showApplication } from './opened-application.ts';

/** Update Application (§4.2): name, permissions, rules and the flag are replaced; type, key and tenant never change. */
export const updateApplication: Handler<'updateApplication'> = async ({ params, body }, caller, world) => {
  const { name, permissions = [], can_create_expiring_applications } = body;
  const rules = normalizeRules(body.rules ?? []);
  const application = await untilSwapped(async () => {
    const { record } = await findApplication(params.id, caller, world);
    checkApplication({ type: record.type, permissions, rules, can_create_expiring_applications });
    const updated = sealApplication(
      caller.tenant.keyring,
      {
        ...record,
        modified_by: caller.application.record.id,
        modified_at: world.clock.now(),
        revision: record.revision + 1,
      },
      { name, permissions, rules, can_create_expiring_applications },
    );
    const audit = caller.trail.changed([record.id], updated.record.revision);
    return (await world.store.replaceApplication(updated.record, record.revision, audit)) ? updated : undefined;
  });
  return showApplication(application);
};
