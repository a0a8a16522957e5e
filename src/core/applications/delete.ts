import { untilSwapped } from '../compare-and-swap.ts';
import type { Handler } from '../handler.ts';
import { findApplication } from './get.ts';

/** Delete Application (§4.2): its tokens stay, the expiring applications that it created go with it (decisions §6). */
export const deleteApplication: Handler<'deleteApplication'> = async ({ params }, caller, world) => {
  await untilSwapped(async () => {
    const { record } = await findApplication(params.id, caller, world);
    const { tenant_id, id, revision } = record;
    const audit = (removed: readonly string[]) => caller.trail.changed(removed);
    return (await world.store.deleteApplication(tenant_id, id, revision, audit)) || undefined;
  });
  return undefined;
};
