import type { AuditDraft } from '../../core/audit/ports.ts';
import { storedNumber } from '../rows/stored-value.ts';
import type { Connections, Run, Transaction } from './connections.ts';
import { uuidKey } from './uuid-text.ts';

/** A tenant's number inside the database, and the ids of its newest keys. */
export interface TenantNumber {
  readonly tenant: number;
  readonly dataKey: number;
  readonly indexKey: number;
}

const FIND = 'SELECT tenant, data_key_id, index_key_id FROM vault.tenant WHERE id = $1';

/** Resolves to the tenant's number, or to undefined if the tenant does not exist. */
export async function findNumber(run: Run, id: string): Promise<TenantNumber | undefined> {
  const [row] = await run(FIND, [uuidKey(id)]);
  if (row === undefined) return undefined;
  const [tenant, dataKey, indexKey] = row.map(storedNumber);
  return { tenant: storedNumber(tenant), dataKey: storedNumber(dataKey), indexKey: storedNumber(indexKey) };
}

/**
 * Changes a tenant, its applications or keys. `work` resolves to whether it changed something. If so, writes the entry.
 * Resolves to false if nothing was changed, or if the tenant does not exist.
 */
export function changeTenant(
  { change }: Connections,
  id: string,
  audit: AuditDraft | undefined,
  work: (transaction: Transaction, found: TenantNumber) => Promise<boolean>,
): Promise<boolean> {
  return change(async (transaction) => {
    const found = await findNumber(transaction.run, id);
    if (found === undefined || !(await work(transaction, found))) return false;
    if (audit !== undefined) await transaction.record(audit);
    return true;
  });
}
