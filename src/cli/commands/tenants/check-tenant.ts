import { PLAIN_TEXT, UUID } from '../../../contract/schema.ts';
import { TENANT } from '../../../contract/tenant.ts';
import { Fault } from '../../../core/fault.ts';

/** Returns the value of `--tenant`, a UUID in any case; undefined without the flag. Throws `usage` for other text. */
export function checkTenantId<T extends string | undefined>(id: T): T {
  if (id === undefined || new RegExp(UUID).test(id)) return id;
  throw new Fault('usage', '--tenant must be the id of a tenant, a UUID', {
    hint: 'list them with `vault tenant list`',
  });
}

/** Returns a tenant's name if the API accepts it (§8). Throws the fault `usage` if not. */
export function checkTenantName(flag: string, name: string): string {
  const { minLength, maxLength } = TENANT.properties.name;
  const length = [...name].length;
  if (length >= minLength && length <= maxLength && new RegExp(PLAIN_TEXT, 'u').test(name)) return name;
  throw new Fault('usage', `${flag} must be ${minLength} to ${maxLength} characters without control characters`);
}
