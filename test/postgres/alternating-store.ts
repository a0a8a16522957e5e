import type { Store } from '../../src/core/ports.ts';

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
