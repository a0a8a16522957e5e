import type { Store } from '../../src/core/ports.ts';
import type { StoreOptions } from '../../src/store/postgres/open-connections.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { createDatabase } from '../postgres/create-database.ts';
import { HEADER, type OpenStore } from './store-fixtures.ts';

export const OPTIONS = { insecure: true };

/** Returns a function that opens a store in a new schema. All schemas are in one database. */
export function inSchemas(options: StoreOptions, open: (openStore: () => Promise<Store>) => Promise<Store>): OpenStore {
  let database: Promise<string> | undefined;
  let schemas = 0;
  return async () => {
    database ??= createDatabase();
    const url = parseStoreUrl(`${await database}?sslmode=disable&schema=vault_${schemas++}`);
    await createVaultStore(url, HEADER, async () => undefined, OPTIONS);
    const openStore = async () => {
      const { store } = await openVaultStore(url, options);
      return store;
    };
    const store = await open(openStore);
    return { store, reopen: openStore, dispose: () => store.close() };
  };
}

/** Returns a store whose calls alternate between two stores of one database. */
export async function alternating(openStore: () => Promise<Store>): Promise<Store> {
  const stores = [await openStore(), await openStore()];
  let calls = 0;
  const ofBoth: Partial<Store> = {
    close: async () => void (await Promise.all(stores.map((store) => store.close()))),
  };
  return new Proxy({} as Store, {
    get: (_, name: keyof Store) => ofBoth[name] ?? stores[calls++ % stores.length]?.[name],
  });
}
