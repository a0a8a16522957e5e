import type { Store } from '../../src/core/ports.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { createDatabase } from '../postgres/create-database.ts';
import { storeConformance } from './store.ts';
import { NOW, sealed } from './store-fixtures.ts';

const HEADER = { vault_id: 'v', format: 1, created_at: NOW, generation: 1, slots: [], mac: sealed('mac', 32) };

async function openInDatabase(open: (openStore: () => Promise<Store>) => Promise<Store>) {
  const url = parseStoreUrl(`${await createDatabase()}?sslmode=disable`);
  const options = { insecure: true };
  await createVaultStore(url, HEADER, async () => undefined, options);
  const openStore = async () => (await openVaultStore(url, options)).store;
  const store = await open(openStore);
  return { store, unchainedMessage: 'the entry failed', reopen: openStore, dispose: () => store.close() };
}

storeConformance('postgres', () => openInDatabase((openStore) => openStore()));

/** Returns a store whose calls alternate between two stores of one database. */
async function alternating(openStore: () => Promise<Store>): Promise<Store> {
  const stores = [await openStore(), await openStore()];
  let calls = 0;
  const close = async () => void (await Promise.all(stores.map((store) => store.close())));
  return new Proxy({} as Store, {
    get: (_, name: keyof Store) => (name === 'close' ? close : stores[calls++ % stores.length]?.[name]),
  });
}

storeConformance('postgres, two stores', () => openInDatabase(alternating));
