import { randomBytes } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { loadSodium } from '../../src/keyring/sodium.ts';
import { openVault } from '../../src/library/open-vault.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { parseStore } from '../../src/vault/location.ts';
import { createStoreVault, openStoreVault } from '../../src/vault/store-vault.ts';
import { createDatabase } from './create-database.ts';

it('openVault opens a vault in a database, which several processes may use', async () => {
  const key = randomBytes(32);
  const store = `${await createDatabase()}?sslmode=disable`;
  await expect(openVault({ store, key })).rejects.toMatchObject({ code: 'store_missing' });

  const made = await createStoreVault({
    store: parseStore(store, false),
    credential: { kind: 'key_file', key: new Uint8Array(key) },
    tenantName: 'default',
    weakPassphrase: false,
  });
  const other = Buffer.alloc(32, 7);
  const derive = vi.spyOn(await loadSodium(), 'crypto_generichash');
  await expect(openVault({ store, key: other })).rejects.toMatchObject({ code: 'wrong_credential' });
  // The copy of the key is wiped, and no other.
  expect(derive.mock.calls.filter(([length]) => length === 64).map(([, , copy]) => copy)).toEqual([new Uint8Array(32)]);
  derive.mockRestore();
  expect(other).toEqual(Buffer.alloc(32, 7));
  await using one = await openVault({ store, key });
  await using two = await openVault({ store, key });
  expect(one.created).toBeUndefined();
  const rule = { description: '', priority: 1, container: '/', transform: 'reveal' as const };
  const permissions = ['token:create', 'token:read'] as const;
  const { key: apiKey = '' } = await one
    .client({ apiKey: made.application.key ?? '' })
    .createApplication({ body: { name: 'backend', type: 'private', rules: [{ ...rule, permissions }] } });
  const { id } = await one.client({ apiKey }).createToken({ body: { type: 'token', data: 'pin' } });
  expect((await two.client({ apiKey }).getToken({ params: { id } })).data).toBe('pin');
});

it('a process whose slot was removed is not ready', async () => {
  const credential = (byte: number) => ({ kind: 'key_file', key: new Uint8Array(32).fill(byte) }) as const;
  const store = parseStore(`${await createDatabase()}?sslmode=disable`, false);
  await createStoreVault({ store, credential: credential(1), tenantName: 'default', weakPassphrase: false });
  const served = await openStoreVault({ store, credential: credential(1) });
  const first = await openVaultAdmin({ store, credential: credential(1) });
  await first.addSlot(credential(2), { allowWeak: false });
  await first.close();
  await served.ready();
  const second = await openVaultAdmin({ store, credential: credential(2) });
  await second.removeSlot(0);
  await expect(served.ready()).rejects.toMatchObject({ code: 'vault_locked' });
  await expect(served.figures()).rejects.toMatchObject({ code: 'vault_locked' });
  await second.addSlot(credential(1), { allowWeak: false });
  await served.ready();
  await second.close();
  await served.close();
});
