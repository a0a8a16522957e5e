import type { Store } from '../../core/ports.ts';
import { storedNumber } from '../rows/stored-value.ts';
import type { Connections, Transaction } from './connections.ts';
import { firstValue } from './sql-client.ts';
import { UNINDEX } from './token-statements.ts';

/** The number of rows of a removed tenant that one transaction removes from a table. */
const PURGE_BATCH = 1000;

const PURGED = 'SELECT tenant FROM vault.purge ORDER BY tenant LIMIT 1 FOR UPDATE SKIP LOCKED';
/** Parameters: tenant, limit. Each returns the number of removed rows. */
const PURGES: readonly string[] = [
  `WITH stale AS MATERIALIZED (SELECT * FROM vault.token_index WHERE tenant = $1
  ORDER BY blind, set_number, created_at, token LIMIT $2), ${UNINDEX} SELECT count(*) FROM stale`,
  `WITH gone AS (DELETE FROM vault.token WHERE token = ANY (ARRAY(
  SELECT token FROM vault.token WHERE tenant = $1 ORDER BY id LIMIT $2)) RETURNING 1) SELECT count(*) FROM gone`,
];
const END_PURGE = 'DELETE FROM vault.purge WHERE tenant = $1';

/** Removes some tokens of a removed tenant. Resolves to whether there may be more. */
async function purgeTokens({ run }: Transaction): Promise<boolean> {
  const [row] = await run(PURGED);
  if (row === undefined) return false;
  const tenant = storedNumber(row[0]);
  for (const purge of PURGES) {
    if (storedNumber(firstValue(await run(purge, [tenant, PURGE_BATCH]))) === PURGE_BATCH) return true;
  }
  await run(END_PURGE, [tenant]);
  return true;
}

export function purgeMethods({ change }: Pick<Connections, 'change'>) {
  return {
    async purgeTenants() {
      while (await change(purgeTokens));
    },
  } satisfies Partial<Store>;
}
