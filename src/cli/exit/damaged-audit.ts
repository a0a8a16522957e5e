import { BrokenAudit } from '../../core/audit/walk-audit.ts';
import { Fault } from '../../core/fault.ts';

/** Throws the fault `damaged` for damage in the audit, and any other error unchanged. */
export function damagedAudit(error: unknown): never {
  if (!(error instanceof BrokenAudit)) throw error;
  throw new Fault('damaged', error.message, { hint: 'run `vault doctor` to find all damage', cause: error });
}
