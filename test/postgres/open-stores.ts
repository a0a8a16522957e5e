import type { Store } from '../../src/core/ports.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { CHAIN_RECORDER, HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';

/** Opens two stores on a new database, as two daemons do, each with its own chain. */
export async function openTwoStores(): Promise<readonly [Store, Store]> {
  const url = parseStoreUrl(`${await createDatabase()}?sslmode=disable`);
  const options = { insecure: true, writesOnRoot: 0 };
  await createVaultStore(url, HEADER, async () => undefined, options);
  const open = async () => {
    const { store } = await openVaultStore(url, options);
    store.useChainRecorder(CHAIN_RECORDER);
    return store;
  };
  return Promise.all([open(), open()]);
}
