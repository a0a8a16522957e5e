import type { Store, VaultHeader } from '../../src/core/ports.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { NOW, sealed } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';

const HEADER: VaultHeader = {
  vault_id: 'v',
  format: 1,
  created_at: NOW,
  generation: 1,
  slots: [],
  mac: sealed('mac', 32),
};

/** Opens two stores on a new database, as two daemons do. */
export async function openTwoStores(): Promise<readonly [Store, Store]> {
  const url = parseStoreUrl(`${await createDatabase()}?sslmode=disable`);
  const options = { insecure: true };
  await createVaultStore(url, HEADER, async () => undefined, options);
  const [one, two] = await Promise.all([openVaultStore(url, options), openVaultStore(url, options)]);
  return [one.store, two.store];
}
