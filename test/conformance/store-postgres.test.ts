import type { Store } from '../../src/core/ports.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { alternating } from '../postgres/alternating-store.ts';
import { createDatabase } from '../postgres/create-database.ts';
import { storeConformance } from './store.ts';
import { HEADER, type OpenStore } from './store-fixtures.ts';

const OPTIONS = { insecure: true };

/** Returns a function that opens a store in a schema of its own; all share a database. */
function inSchemas(open: (openStore: () => Promise<Store>) => Promise<Store>): OpenStore {
  let database: Promise<string> | undefined;
  let schemas = 0;
  return async () => {
    database ??= createDatabase();
    const url = parseStoreUrl(`${await database}?sslmode=disable&schema=vault_${schemas++}`);
    await createVaultStore(url, HEADER, async () => undefined, OPTIONS);
    const openStore = async () => (await openVaultStore(url, OPTIONS)).store;
    const store = await open(openStore);
    return { store, unchainedMessage: 'the entry failed', reopen: openStore, dispose: () => store.close() };
  };
}

storeConformance(
  'postgres',
  inSchemas((openStore) => openStore()),
);

storeConformance('postgres, two stores', inSchemas(alternating));
