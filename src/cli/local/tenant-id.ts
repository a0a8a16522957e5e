import { UUID } from '../../contract/text.ts';
import { Fault } from '../../core/fault.ts';

/** A tenant's id as `--tenant` says it, in upper or lower case; undefined where it says none. Throws the fault `usage`. */
export function checkTenantId<T extends string | undefined>(id: T): T {
  if (id === undefined || new RegExp(UUID).test(id)) return id;
  throw new Fault('usage', '--tenant is the id of a tenant, a UUID');
}
