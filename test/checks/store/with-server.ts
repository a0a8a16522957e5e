import type { Store } from '../../../src/core/ports.ts';
import { openTwice } from '../../postgres/open-twice.ts';
import { startPostgres } from '../../postgres/start-postgres.ts';
import type { OpenStores } from '../start-daemons.ts';

/** Runs `use` with a server. With `isStale`, its second daemon never sees a changed key, rule or tenant. */
export async function withServer<T>(use: (openStores: OpenStores) => Promise<T>, isStale = false): Promise<T> {
  await using server = await startPostgres();
  process.env['PGPASSWORD'] = 'unused';
  let vaults = 0;
  return await use(async (...parts) => {
    const url = `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=disable&schema=vault_${vaults++}`;
    const [first, second] = await openTwice(url, ...parts);
    return [first, isStale ? staleStore(second) : second];
  });
}

/** Returns a store that shows no new rows of the audit to its follower. */
function staleStore(store: Store): Store {
  return { ...store, followAudit: async (...rows) => (await store.followAudit(...rows)).slice(0, 1) };
}
