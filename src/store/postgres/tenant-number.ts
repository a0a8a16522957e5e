import type { AuthorityDraft } from '../../core/audit/ports.ts';
import { storedNumber } from '../rows/stored-value.ts';
import type { Connections, Run, Transaction } from './connections.ts';
import { uuidKey } from './uuid-text.ts';

const FIND_TENANT = 'SELECT tenant, data_key_id FROM vault.tenant WHERE id = $1';

/** A tenant's number inside the database, and the id of its newest data key. */
interface TenantNumber {
  readonly tenant: number;
  readonly dataKey: number;
}

/** Resolves to the tenant's number, or to undefined if the tenant does not exist. */
export async function findNumber(run: Run, id: string): Promise<TenantNumber | undefined> {
  const [row] = await run(FIND_TENANT, [uuidKey(id)]);
  return row && { tenant: storedNumber(row[0]), dataKey: storedNumber(row[1]) };
}

type TenantChange = (transaction: Transaction, found: TenantNumber) => Promise<boolean>;

/**
 * Changes a tenant, its applications or keys. `work` resolves to whether it changed something; only then the entry is
 * written. Resolves to false if nothing was changed, or if the tenant does not exist.
 */
export function changeTenant(
  { change }: Connections,
  id: string,
  audit: AuthorityDraft | undefined,
  work: TenantChange,
) {
  return change(async (transaction) => {
    const found = await findNumber(transaction.run, id);
    if (found === undefined || !(await work(transaction, found))) return false;
    if (audit !== undefined) await transaction.record(audit);
    return true;
  });
}
