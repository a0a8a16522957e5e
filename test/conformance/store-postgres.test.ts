import type { Store } from '../../src/core/ports.ts';
import type { StoreOptions } from '../../src/store/postgres/open-connections.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { alternating } from '../postgres/alternating-store.ts';
import { createDatabase } from '../postgres/create-database.ts';
import { storeConformance } from './store.ts';
import { CHAIN_RECORDER, HEADER, type OpenStore } from './store-fixtures.ts';

const OPTIONS = { insecure: true };
/** Each store opens its own chain with its first write. */
const OWN_CHAINS = { ...OPTIONS, writesOnRoot: 0 };

/** Returns a function that opens a store in a new schema. All schemas are in one database. */
function inSchemas(options: StoreOptions, open: (openStore: () => Promise<Store>) => Promise<Store>): OpenStore {
  let database: Promise<string> | undefined;
  let schemas = 0;
  return async () => {
    database ??= createDatabase();
    const url = parseStoreUrl(`${await database}?sslmode=disable&schema=vault_${schemas++}`);
    await createVaultStore(url, HEADER, async () => undefined, OPTIONS);
    const openStore = async () => {
      const { store } = await openVaultStore(url, options);
      store.useChainRecorder(CHAIN_RECORDER);
      return store;
    };
    const store = await open(openStore);
    return { store, unchainedMessage: 'the entry failed', reopen: openStore, dispose: () => store.close() };
  };
}

storeConformance('postgres, two stores with their own chains', inSchemas(OWN_CHAINS, alternating));

// One store does less than two. CI tests it on Debian's PostgreSQL.
if (process.env['VAULT_TEST_POSTGRES'] !== undefined) {
  storeConformance(
    'postgres',
    inSchemas(OPTIONS, (openStore) => openStore()),
  );
}
