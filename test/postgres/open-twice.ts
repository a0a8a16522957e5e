import type { Store, VaultHeader } from '../../src/core/ports.ts';
import type { StoreOptions } from '../../src/store/postgres/open-connections.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';

/** Creates a vault at a URL and opens its store twice, as two daemons do. */
export async function openTwice(
  text: string,
  header: VaultHeader,
  fill: (store: Store) => Promise<void>,
  options: StoreOptions = {},
): Promise<readonly [Store, Store]> {
  const url = parseStoreUrl(text);
  await createVaultStore(url, header, fill, options);
  const open = async () => (await openVaultStore(url, options)).store;
  return Promise.all([open(), open()]);
}

/** Opens two stores on an empty database, as two daemons do. Default: a new database. */
export async function openTwoStores(database?: string): Promise<readonly [Store, Store]> {
  const url = database ?? (await createDatabase());
  return openTwice(`${url}?sslmode=disable`, HEADER, async () => undefined, { insecure: true });
}
