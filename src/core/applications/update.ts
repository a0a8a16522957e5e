import type { Permission } from '../../contract/permissions.ts';
import { checkApplication, checkTypeless } from '../access/check-application.ts';
import { normalizeRules } from '../access/normalize-rules.ts';
import { untilSwapped } from '../compare-and-swap.ts';
import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import { findApplication } from './get.ts';
import { sealApplication, showApplication } from './opened-application.ts';

/** Update Application (§4.2): name, permissions, rules and the flag are replaced; type, key and tenant never change. */
export const updateApplication: Handler<'updateApplication'> = async ({ params, body }, caller, world) => {
  const { name, permissions = [], can_create_expiring_applications } = body;
  const rules = normalizeRules(body.rules ?? []);
  // What is wrong for every type is a 400 whether or not the application is there (decisions §1, order of checks).
  checkTypeless({ permissions, rules });
  const application = await untilSwapped(async () => {
    const { record, details } = await findApplication(params.id, caller, world);
    checkApplication({ type: record.type, permissions, rules, can_create_expiring_applications });
    if (record.id === caller.application.record.id) refuseWidening(details.permissions, permissions);
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

/** Only management applications update any, and these have no rules: another one must give what it does not hold. */
function refuseWidening(held: readonly Permission[], wanted: readonly Permission[]): void {
  const added = wanted.filter((permission) => !held.includes(permission));
  if (added.length === 0) return;
  throw new Problem('permission_missing', {
    detail: `An application cannot give itself what it does not hold: ${added.join(', ')}.`,
  });
}
