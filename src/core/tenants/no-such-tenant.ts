import { Fault } from '../fault.ts';

/** Returns the fault for an unknown tenant id. */
export function noSuchTenant(): Fault {
  return new Fault('not_found', 'there is no tenant with this id', { hint: 'list them with `vault tenant list`' });
}
