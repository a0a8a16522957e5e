import { FAULTS } from '../../../contract/faults.ts';
import type { DamagedTenants } from '../../../vault/tenants/each-tenant.ts';
import { report } from '../../exit/report-failure.ts';

/** Reports each damaged tenant of a result, with one hint. Returns the exit code. */
export function damagedExitCode({ damaged = [] }: DamagedTenants): 0 | 9 {
  for (const id of damaged) {
    report(`tenant ${id} is damaged and was skipped`, id === damaged.at(-1) ? FAULTS.damaged.hint : undefined);
  }
  return damaged.length === 0 ? 0 : 9;
}
