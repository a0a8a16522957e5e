import { Fault } from '../fault.ts';

export function noSuchTenant(): Fault {
  return new Fault('not_found', 'there is no tenant with this id or name', {
    hint: 'list them with `vault tenant list`',
  });
}
