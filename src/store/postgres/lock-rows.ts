import type { TokenRecord } from '../../core/ports.ts';
import { isStorableText } from '../rows/stored-value.ts';
import type { Bound, Run } from './connections.ts';
import { listsOf, named } from './sql-client.ts';
import { uuidKey } from './uuid-text.ts';

type TokenName = Pick<TokenRecord, 'tenant_id' | 'id'>;

/**
 * The statements of this module, for the test of their plans. Each list is a subquery, so that the planner does not
 * know its length. Otherwise it would make a new plan for each list.
 */
export const LOCKS = named({
  lockGates: 'SELECT 1 FROM vault.gate WHERE gate = ANY ((SELECT $1::smallint[])::smallint[]) ORDER BY gate FOR UPDATE',
  lockTokens: `SELECT count(*) FROM unnest((SELECT $1::uuid[]), (SELECT $2::text[])) w (tenant_id, id),
  LATERAL (SELECT 1 FROM vault.token
    WHERE tenant = (SELECT n.tenant FROM vault.tenant n WHERE n.id = w.tenant_id) AND vault.token.id = w.id
    FOR UPDATE) t`,
});

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * Returns the statements that lock these gates and tokens, in this order, until the end of the transaction. Send them
 * before the statements that read what the locks guard: a statement does not see what is committed while it waits. An id
 * that the store cannot hold has no row to lock.
 */
export function locksOf(gates: readonly number[], tokens: readonly TokenName[]): readonly Bound[] {
  const found = tokens.filter(({ tenant_id, id }) => uuidKey(tenant_id) !== null && isStorableText(id));
  const sorted = found.toSorted((a, b) => compare(a.tenant_id, b.tenant_id) || compare(a.id, b.id));
  const locks: Bound[] = [];
  if (gates.length > 0) locks.push([LOCKS.lockGates, [[...new Set(gates)]]]);
  if (sorted.length > 0) locks.push([LOCKS.lockTokens, listsOf(sorted, 'tenant_id', 'id')]);
  return locks;
}

/** Locks these gates and tokens until the end of the transaction of `run`. */
export async function lockRows(run: Run, gates: readonly number[], tokens: readonly TokenName[]): Promise<void> {
  await Promise.all(locksOf(gates, tokens).map(([statement, values]) => run(statement, values)));
}
