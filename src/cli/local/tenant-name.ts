import { TENANT } from '../../contract/tenant.ts';
import { PLAIN_TEXT } from '../../contract/text.ts';
import { Fault } from '../../core/fault.ts';

/** A tenant's name as the API would take it (§8). Throws the fault `usage`. */
export function checkTenantName(flag: string, name: string): string {
  const { minLength, maxLength } = TENANT.properties.name;
  const length = [...name].length;
  if (length >= minLength && length <= maxLength && new RegExp(PLAIN_TEXT, 'u').test(name)) return name;
  throw new Fault('usage', `${flag} is a name of ${minLength} to ${maxLength} characters, none a control character`);
}
