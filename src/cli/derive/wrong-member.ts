import { Fault } from '../../core/fault.ts';

/**
 * Returns the fault for a flag whose value cannot be the member of a request. It has the code and the exit code with
 * which the API rejects the member. `reason` follows the name of the flag.
 */
export function wrongMember(
  { name, member }: { readonly name: string; readonly member: string },
  reason: string,
  hint?: string,
): Fault {
  const message = `--${name}${reason.startsWith(':') ? '' : ' '}${reason}`;
  return new Fault('invalid_request', message, { hint, errors: { [member]: [reason.replace(/^: /, '')] } });
}
