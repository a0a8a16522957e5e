import { expect, it } from 'vitest';
import { openFileVault } from '../../src/vault/vault.ts';
import { CREDENTIAL, callVault, doctor, fileVault } from './vault-admin-fixture.ts';

const open = (file: string) => openFileVault({ file, credential: CREDENTIAL });

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
  expect((await doctor(file)).findings).toEqual([]);
});
