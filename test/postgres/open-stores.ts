import type { Store } from '../../src/core/ports.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';

/** Opens two stores on a new database, as two daemons do. */
export async function openTwoStores(): Promise<readonly [Store, Store]> {
  const url = parseStoreUrl(`${await createDatabase()}?sslmode=disable`);
  const options = { insecure: true };
  await createVaultStore(url, HEADER, async () => undefined, options);
  const [one, two] = await Promise.all([openVaultStore(url, options), openVaultStore(url, options)]);
  return [one.store, two.store];
}
