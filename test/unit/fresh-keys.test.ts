import { expect, it } from 'vitest';
import type { Keyring } from '../../src/core/ports.ts';
import { Problem } from '../../src/core/problem.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { openCore, tenantsWith } from './core-fixture.ts';
import { callVault, doctor, fileVault, withAdmin, withVault } from './vault-admin-fixture.ts';

it.each<[string, (vault: Vault) => Promise<unknown>]>([
  ['create a tenant', (vault) => vault.createTenant('later')],
  ['list the tenants', async (vault) => (await vault.listTenants()).tenants.length],
  ['issue a key', (vault) => vault.issueKey(undefined)],
])('an open vault can %s after another process replaced the master key', async (_, use) => {
  const { file, apiKey } = await fileVault(1);
  await withVault(file, async (vault) => {
    await withAdmin(file, (admin) => admin.rotate({ indexes: true, master: true }));
    expect(await use(vault)).toBeTruthy();
    expect((await callVault(vault, apiKey, 'getToken', { id: 'token-0' })).status).toBe(200);
  });
  expect(await doctor(file)).toMatchObject({ ok: true, findings: [] });
});

it('a call is repeated with newer keys when a rotation overtakes it', async () => {
  let isStale = false;
  const throwing = tenantsWith(({ open }) => ({
    open(context, sealed) {
      if (isStale && context.table === 'token') throw new Problem('integrity_failure');
      return open(context, sealed);
    },
  }));
  const keyringOf = (keyring: Keyring): Keyring => ({
    ...throwing(keyring),
    async refresh() {
      isStale = false;
    },
  });
  const core = await openCore({ keyringOf });
  await core.token({ id: 'one', type: 'token', data: 1 });
  isStale = true;
  expect(await core.own('getToken', { params: { id: 'one' } })).toMatchObject({ status: 200 });
  expect(isStale).toBe(false);
});
