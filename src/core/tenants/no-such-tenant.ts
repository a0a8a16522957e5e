import { Fault } from '../fault.ts';

/** The fault for the id of a tenant that is not in the file. */
export function noSuchTenant(): Fault {
  return new Fault('not_found', 'there is no tenant with this id', { hint: '`vault tenant list` shows them' });
}
