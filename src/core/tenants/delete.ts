import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';

/** Delete Tenant (§4.3, decisions §8): its keys, applications and tokens go at once; copies of its data stay closed. */
export const deleteTenant: Handler<'deleteTenant'> = async (_request, { tenant, trail }, world) => {
  if (!(await world.store.deleteTenant(tenant.record.id, trail.changed([])))) throw new Problem('unauthenticated');
  return undefined;
};
