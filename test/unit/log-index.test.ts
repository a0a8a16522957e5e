import { expect, it } from 'vitest';
import { resetVault } from '../../src/vault/admin.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { CREDENTIAL, callVault, doctor, fileVault, withAdmin } from './vault-admin-fixture.ts';

const open = (file: string) => openFileVault({ file, credential: CREDENTIAL });
const findingsOf = async (file: string) => (await doctor(file)).findings;

it('two processes can complete the log index at the same time', async () => {
  const { file, apiKey, management } = await fileVault(150);
  const vaults = await Promise.all([open(file), open(file)]);
  await Promise.all(vaults.map((vault) => vault.sweep()));
  await callVault(vaults[0], apiKey, 'getToken', { id: 'token-7' });
  await Promise.all(vaults.map((vault) => vault.sweep()));
  for (const vault of vaults) {
    const { body } = await callVault(vault, management, 'listLogs', { query: [['entity_id', 'token-7']] });
    const { data } = body as { readonly data: readonly { readonly operation: string }[] };
    expect(data.map(({ operation }) => operation)).toEqual(['getToken', 'createToken']);
  }
  await Promise.all(vaults.map((vault) => vault.close()));
  expect(await findingsOf(file)).toEqual([]);
});

it('the log index stays valid after a reset and a rotation', async () => {
  const { file, apiKey, management } = await fileVault(3);
  const history = async () => {
    const vault = await open(file);
    await callVault(vault, apiKey, 'getToken', { id: 'token-1' });
    await vault.sweep();
    const { body } = await callVault(vault, management, 'listLogs', { query: [['entity_id', 'token-1']] });
    await vault.close();
    expect(await findingsOf(file)).toEqual([]);
    return (body as { readonly data: readonly { readonly operation: string }[] }).data.map(
      ({ operation }) => operation,
    );
  };
  expect(await history()).toEqual(['getToken', 'createToken']);
  await withAdmin(file, (admin) => admin.rotate({ tenantId: undefined, indexes: true, master: true }));
  expect(await history()).toEqual(['getToken', 'getToken', 'createToken']);
  await resetVault({ file, credential: CREDENTIAL }, undefined);
  // Deleted tokens keep their history. A read of one leaves no entry at this level.
  expect(await history()).toEqual(['getToken', 'getToken', 'createToken']);
});
