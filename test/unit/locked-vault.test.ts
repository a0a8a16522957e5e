import { expect, it } from 'vitest';
import type { Credential } from '../../src/keyring/credential.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { CREDENTIAL, callVault, fileVault, openedVault, withAdmin } from './vault-admin-fixture.ts';

const LOCKED = { code: 'vault_locked', status: 503 };
const OTHER: Credential = { kind: 'key_file', key: new Uint8Array(32).fill(8) };

it('a vault whose slot was removed, or whose master key was replaced, is not ready until its key opens it', async () => {
  const { file, management } = await fileVault(1);
  const served = await openedVault(file);
  await withAdmin(file, (admin) => admin.addSlot(OTHER, { allowWeak: false }));
  await served.ready();
  const other = await openVaultAdmin({ file, credential: OTHER });
  await other.removeSlot(0);
  await expect(served.ready()).rejects.toMatchObject(LOCKED);
  await expect(served.figures()).rejects.toMatchObject(LOCKED);
  await other.addSlot(CREDENTIAL, { allowWeak: false });
  await served.ready();
  expect((await served.figures()).writable).toBe(true);
  await other.rotate({ indexes: false, master: true });
  await other.close();
  await expect(served.ready()).rejects.toMatchObject(LOCKED);
  await expect(served.ready()).rejects.toMatchObject(LOCKED);
  expect((await callVault(served, management, 'getTenant')).status).toBe(503);
});
