import type { Store, VaultHeader } from '../../src/core/ports.ts';
import type { StoreOptions } from '../../src/store/postgres/open-connections.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';

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
