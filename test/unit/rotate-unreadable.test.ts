import { expect, it } from 'vitest';
import { tamperFile } from '../checks/tamper-file.ts';
import { callVault, fileVault, withAdmin, withVault } from './vault-admin-fixture.ts';

// A rotation destroys a key only if every record opens under the others. Each edit hides a record from the search for
// records under the old key.

const under = (table: string, where = `${table} = 1`) => {
  return (key: number) => `UPDATE ${table} SET key_id = ${key} WHERE ${where}`;
};
const [application, key] = [under('application'), under('application_key')];
const token = (id: number) => `${under('token', 'true')(id)}; ${under('counter', 'type > 0')(id)}`;
const row = (number: string) =>
  `PRAGMA foreign_keys = OFF; UPDATE token SET token = ${number}; UPDATE token_index SET token = ${number}`;

const EDITS: readonly (readonly [what: string, edit: string, repair: string])[] = [
  ['an application under the key that comes next', application(3), application(1)],
  ['an application under an unknown key', application(1000), application(1)],
  ['an API key under the key that comes next', key(3), key(1)],
  ['a token under the key that comes next, with its counter', token(3), token(1)],
  ['a token with a row number that the vault never assigns', row('1152921504606846977'), row('1')],
];

it.each(EDITS)('%s keeps its key', async (_what, edit, repair) => {
  const { file, management, apiKey } = await fileVault(1);
  await tamperFile(file, (connection) => void connection.exec(edit));
  const rotated = withAdmin(file, (admin) => admin.rotate({ master: false, indexes: false }));
  expect(await rotated).toMatchObject({ damaged: [expect.any(String)] });
  await tamperFile(file, (connection) => void connection.exec(repair));
  await withVault(file, async (one) => {
    expect((await callVault(one, management, 'getTenant')).status).toBe(200);
    expect((await callVault(one, apiKey, 'getToken', { id: 'token-0' })).status).toBe(200);
  });
});

it('a row number that names another row as a double removes neither', async () => {
  const { file, apiKey } = await fileVault(2);
  await tamperFile(file, (connection) =>
    connection.exec(`PRAGMA foreign_keys = OFF;
      UPDATE token SET token = 1152921504606846976 + (id = 'token-1');
      UPDATE token_index SET token = 1152921504606846976 + (token - 1)`),
  );
  await withVault(file, async (one) => {
    expect((await callVault(one, apiKey, 'deleteToken', { id: 'token-1' })).status).toBe(500);
  });
  await tamperFile(file, (connection) => {
    expect(connection.prepare('SELECT id FROM token ORDER BY id').pluck().all()).toEqual(['token-0', 'token-1']);
  });
});
