import type { AuthorityDraft } from '../../core/audit/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { Dialect, SharedParts } from './dialect.ts';
import { type Fragment, raw, sql } from './fragment.ts';
import type { Answers, SharedStatement, StoreSteps } from './store-steps.ts';
import { storedNumber } from './stored-value.ts';
import { KEY_PURPOSE_CODES } from './type-codes.ts';

const DATA = raw(`${KEY_PURPOSE_CODES.data}`);

/** A tenant's number inside the store, and the id of its newest data key. */
export interface TenantNumber {
  readonly tenant_id: string;
  readonly tenant: number;
  readonly dataKey: unknown;
}

/** Returns the query of a tenant's number. */
export function numberOfTenant({ uuidKey }: Dialect, id: string): Fragment {
  return sql`(SELECT tenant FROM vault.tenant WHERE id = ${uuidKey(id)} OFFSET 0)`;
}

/** Finds a tenant's number; undefined if the tenant does not exist. Also sends other statements and returns their rows. */
export function* findTenantNumber(
  { uuidKey }: Dialect,
  tenant_id: string,
  ...others: readonly SharedStatement[]
): StoreSteps<readonly [found: TenantNumber | undefined, ...Answers]> {
  const number = sql`SELECT tenant, (SELECT max(key_id) FROM vault.tenant_key k
    WHERE k.tenant = n.tenant AND purpose = ${DATA}) FROM vault.tenant n WHERE id = ${uuidKey(tenant_id)}`;
  const [[row] = [], ...answers] = yield [number, ...others];
  return [row && { tenant_id, tenant: storedNumber(row[0]), dataKey: row[1] }, ...answers];
}

/**
 * Throws `write_conflict` unless a record is under the tenant's newest data key. Older keys may be destroyed, and the
 * record with them.
 */
export function requireNewestKey({ dataKey }: TenantNumber, { key_id }: { readonly key_id: number }): void {
  if (dataKey !== key_id) throw new Problem('write_conflict');
}

/**
 * Changes a tenant, its applications or keys. `work` returns whether it changed something; only then the entry is
 * written. Resolves to false if nothing was changed, or if the tenant does not exist.
 */
export function changeTenant(
  { dialect, change }: SharedParts,
  residue: Parameters<SharedParts['change']>[0],
  [id, audit]: readonly [id: string, audit?: AuthorityDraft | undefined],
  work: (found: TenantNumber) => StoreSteps<boolean>,
): Promise<boolean> {
  return change(residue, function* () {
    const [found] = yield* findTenantNumber(dialect, id);
    if (found === undefined || !(yield* work(found))) return false;
    if (audit !== undefined) yield { entry: audit };
    return true;
  });
}
