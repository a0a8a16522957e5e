import { FAULTS } from '../../../contract/faults.ts';
import type { DamagedTenants } from '../../../vault/tenants/each-tenant.ts';
import { printError } from '../../exit/report-failure.ts';

/** Reports the damaged tenants of a result. Returns the exit code. */
export function damagedExitCode({ damaged = [] }: DamagedTenants): 0 | 9 {
  const [first, ...others] = damaged;
  if (first === undefined) return 0;
  const isOne = others.length === 0;
  const message = isOne ? `tenant ${first} is damaged and was skipped` : `${damaged.length} tenants were skipped`;
  const details = isOne ? [] : damaged.map((id) => `tenant ${id} is damaged`);
  return printError(9, { code: 'damaged', message, details, hint: FAULTS.damaged.hint });
}
