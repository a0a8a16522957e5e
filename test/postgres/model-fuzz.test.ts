import { expect, it } from 'vitest';
import type { Store, VaultHeader } from '../../src/core/ports.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import { fuzz } from '../checks/model-fuzz.ts';
import { alternating } from './alternating-store.ts';
import { createDatabase } from './create-database.ts';

/** Opens a store whose calls alternate between two stores of one database. */
async function openStore(header: VaultHeader, fill: (store: Store) => Promise<void>): Promise<Store> {
  const url = parseStoreUrl(`${await createDatabase()}?sslmode=disable`);
  await createVaultStore(url, header, fill, {});
  return alternating(async () => (await openVaultStore(url, {})).store);
}

it('a daemon on PostgreSQL, a file and the model agree on 400 random calls', { timeout: 120_000 }, async () => {
  const { figures, differences } = await fuzz({ seed: 3, steps: 400, openStore });
  expect(differences).toEqual([]);
  expect(figures).toMatchObject({ steps: 400, server_errors: 0 });
});
