import { describe, expect, it } from 'vitest';
import { compareRecords } from '../../src/history/compare-records.ts';
import { openFileForKeyHolder } from '../../src/vault/key-holder.ts';
import { resetTokens } from '../../src/vault/keys/reset-tokens.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { COUNTERS } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { seededRandom } from '../fixed-world.ts';
import { CREDENTIAL, callVault, fileVault, openedVault } from './vault-admin-fixture.ts';

/** Compares a vault in slices of three rows, and calls `between` before each slice. */
async function compare(file: string, between: () => Promise<void> = async () => undefined) {
  const opened = await openFileForKeyHolder({ file, credential: CREDENTIAL });
  const { store } = opened;
  const revisionsOf: typeof store.revisionsOf = async (...query) => {
    await between();
    return store.revisionsOf(...query);
  };
  const compared = compareRecords({ ...opened, store: { ...store, revisionsOf }, sliceRows: 3 });
  return compared.then(({ findings }) => findings).finally(opened.close);
}

/** Opens a vault, and resolves to a function that makes a random change of its tokens, applications or tenants. */
async function changed(seed: string) {
  const vault = await fileVault(20);
  const opened = await openedVault(vault.file);
  const random = seededRandom(seed);
  const among = (count: number) => (random.bytes(1)[0] ?? 0) % count;
  const call = (key: string, ...made: [Parameters<typeof callVault>[2], object?]) =>
    callVault(opened, key, made[0], made[1]);
  const id = () => `token-${among(24)}`;
  let made = 100;
  const changes = [
    () => call(vault.apiKey, 'createToken', { body: { id: `token-${made++}`, type: 'token', data: made } }),
    () => call(vault.apiKey, 'createToken', { body: { id: id(), type: 'token', data: 1 } }),
    () => call(vault.apiKey, 'updateToken', { id: id(), body: { data: among(99) } }),
    () => call(vault.apiKey, 'deleteToken', { id: id() }),
    () => call(vault.management, 'updateTenant', { body: { name: `name ${among(99)}` } }),
    () =>
      call(vault.management, 'createApplication', {
        body: { name: 'x', type: 'public', permissions: ['token:create'] },
      }),
    () => opened.createTenant('other'),
    async () => {
      if (among(6) > 0) return;
      const holder = await openFileForKeyHolder({ file: vault.file, credential: CREDENTIAL });
      await resetTokens({ ...holder, yieldToLoop: async () => undefined }, undefined).finally(holder.close);
    },
  ];
  const change = async () => void (await changes[among(changes.length)]?.());
  return { ...vault, change };
}

const TAMPERED: Readonly<Record<string, string>> = {
  'an older revision': 'UPDATE token SET revision = revision + 1 WHERE id = (SELECT min(id) FROM token)',
  'a removed token': 'DELETE FROM token_index; DELETE FROM token WHERE id = (SELECT max(id) FROM token)',
  'an added tombstone': `INSERT INTO tombstone SELECT tenant, 'added', type, created_by, created_at, deleted_by, deleted_at, mac
    FROM tombstone LIMIT 1`,
};

describe('a comparison beside writes', () => {
  it.each(Array.from({ length: 12 }, (_, n) => `seed ${n}`))('finds nothing in a sound vault: %s', async (seed) => {
    const { file, change } = await changed(seed);
    for (let n = 0; n < 10; n += 1) await change();
    expect(await compare(file, change)).toEqual([]);
    expect(await compare(file)).toEqual([]);
  });

  it.each(Object.entries(TAMPERED))('finds %s', async (_what, sql) => {
    const { file, change, apiKey } = await changed('tampered');
    const opened = await openFileVault({ file, credential: CREDENTIAL });
    await callVault(opened, apiKey, 'deleteToken', { id: 'token-7' });
    await opened.close();
    await tamperFile(file, (connection) => connection.exec(`PRAGMA foreign_keys = OFF; ${sql}; ${COUNTERS}`));
    expect(await compare(file, change)).not.toEqual([]);
    expect(await compare(file)).not.toEqual([]);
  });

  it('finds an older row that a reset has removed', async () => {
    const { file, apiKey } = await changed('reset');
    await tamperFile(file, (connection) => connection.exec("UPDATE token SET revision = 7 WHERE id = 'token-3'"));
    const holder = await openFileForKeyHolder({ file, credential: CREDENTIAL });
    await resetTokens({ ...holder, yieldToLoop: async () => undefined }, undefined).finally(holder.close);
    expect(apiKey).toBeDefined();
    const what = expect.stringContaining('was emptied of other tokens');
    expect(await compare(file)).toEqual([{ table: 'tenant', id: expect.any(String), what }]);
  });
});
