import { FAULTS } from '../../../contract/faults.ts';
import type { DamagedTenants } from '../../../core/maintenance-ports.ts';
import { report } from '../../report-failure.ts';

/** Reports each damaged tenant of a result, and a hint, and returns the exit code. */
export function damagedExitCode({ damaged = [] }: DamagedTenants): 0 | 9 {
  for (const id of damaged) {
    report(`tenant ${id} was left out, because it is damaged`, id === damaged.at(-1) ? FAULTS.damaged.hint : undefined);
  }
  return damaged.length === 0 ? 0 : 9;
}
