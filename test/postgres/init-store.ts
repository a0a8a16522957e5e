import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseStore } from '../../src/vault/location.ts';
import { createStoreVault } from '../../src/vault/store-vault.ts';
import { createDatabase } from './create-database.ts';

/** A vault in a database of its own. The URL works for every command. */
export interface TestStore {
  readonly url: string;
  readonly tenant: string;
  readonly key: string;
}

/** Creates a vault like `vault init --store`, with the key file `NAME.db.key`, but without a process. */
export async function initStore(cwd: string, name: string, tenantName = 'default'): Promise<TestStore> {
  const url = `${await createDatabase()}?sslmode=disable`;
  const key = randomBytes(32);
  writeFileSync(path.join(cwd, `${name}.db.key`), key, { mode: 0o600, flag: 'wx' });
  const { tenant, application } = await createStoreVault({
    store: parseStore(url, false),
    credential: { kind: 'key_file', key: new Uint8Array(key) },
    tenantName,
    weakPassphrase: false,
  });
  return { url, tenant: tenant.id, key: application.key ?? '' };
}
