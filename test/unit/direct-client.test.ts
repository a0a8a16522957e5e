import { expect, it } from 'vitest';
import { directClient } from '../../src/client/direct.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { openTestVault } from '../test-vault.ts';
import { rawConnection } from './store-sqlite-fixture.ts';
import { CREDENTIAL, callVault, fileVault } from './vault-admin-fixture.ts';

it('lets others empty the log of the file while its caller holds the reply', async () => {
  const { file, management } = await fileVault(1);
  const vault = await openFileVault({ file, credential: CREDENTIAL });
  const client = directClient(vault);
  const body = { name: 'masked', type: 'private', permissions: ['token:read'] };
  const { key } = (await callVault(vault, management, 'createApplication', { body })).body as { readonly key: string };
  const other = await rawConnection(file);
  for (const operation of ['getToken', 'listTokens'] as const) {
    const params: Readonly<Record<string, string>> = operation === 'getToken' ? { id: 'token-0' } : {};
    for (let round = 0; round < 2; round += 1) {
      const { status } = await client.call({ operation, apiKey: key, params, query: [] });
      // Nothing is awaited between the reply and these steps, so the thread of the caller could stop here.
      other.exec('UPDATE counter SET count = count + 1 WHERE tenant = 0');
      expect([operation, status, other.pragma('wal_checkpoint(TRUNCATE)')]).toEqual([
        operation,
        200,
        [{ busy: 0, log: 0, checkpointed: 0 }],
      ]);
    }
  }
  await client.close();
});

it('wipes the keys on close', async () => {
  let closed = 0;
  const { client } = await openTestVault('seed', {
    keyringOf: (keyring) => ({
      ...keyring,
      close() {
        closed += 1;
        keyring.close();
      },
    }),
  });
  await client.close();
  expect(closed).toBe(1);
});
