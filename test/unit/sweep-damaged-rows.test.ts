import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { directClient } from '../../src/client/direct.ts';
import { createVault } from '../../src/vault/vault.ts';
import { createCaller } from '../checks/perform.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const START = Date.UTC(2031, 0, 1);
const HOUR = 3_600_000;
/** More tokens than a sweep removes at once. */
const TOKENS = 230;

/** Edits of one row each, and how many records the sweep then leaves. */
const EDITS = {
  'an expiry moved back': ["UPDATE token SET expires_at = 1000 WHERE id = 'token-0'", 1],
  'many expiries moved back': ["UPDATE token SET expires_at = 1000 WHERE id LIKE 'token-1%'", 111],
  'an expiry moved back, also in the clear columns': [
    `UPDATE token SET expires_at = 1000, clear = CAST(substr(clear, 1, 28) || x'0000000003e8' || substr(clear, 35) AS BLOB)
     WHERE id = 'token-0'`,
    1,
  ],
  'a revision raised': ["UPDATE token SET revision = 7 WHERE id = 'token-0'", 1],
  'clear columns cut': ["UPDATE token SET clear = x'01' WHERE id = 'token-0'", 1],
  'a tombstone put back': [
    "INSERT INTO tombstone SELECT tenant, id, type, x'00', 0, NULL, 0, x'00' FROM token WHERE id = 'token-0'",
    1,
  ],
  'the expiry of an application moved back': ['UPDATE application SET expires_at = 1000 WHERE expires_at > 0', 1],
  'the id of an application cut': ["UPDATE application SET id = x'01' WHERE expires_at IS NOT NULL", 1],
} as const;

async function expiringVault() {
  const file = join(temporaryFolder(onTestFinished), 'vault.db');
  let wall = START;
  const times = { wall: () => wall, running: () => wall };
  const credential = { kind: 'key_file', key: new Uint8Array(32).fill(9) } as const;
  const { vault, application } = await createVault({ file, credential, times, tenantName: 'sweep' });
  onTestFinished(() => vault.close());
  const perform = createCaller(() => directClient(vault));
  const rights = { type: 'private', permissions: ['token:create'] };
  const { body: app } = await perform(application.key ?? '', 'createApplication', { body: { name: 'a', ...rights } });
  const expires_at = new Date(START + HOUR).toISOString();
  for (let n = 0; n < TOKENS; n += 1) {
    const body = { id: `token-${n}`, type: 'token', data: n, expires_at };
    expect((await perform(String(app['key']), 'createToken', { body })).status).toBe(201);
  }
  const expiring = { name: 'expiring', type: 'expiring', permissions: ['token:read'] };
  expect(await perform(application.key ?? '', 'createApplication', { body: expiring })).toMatchObject({ status: 201 });
  return { file, vault, pass: (ms: number) => (wall += ms) };
}

it.each(Object.entries(EDITS))(
  '%s: the sweep removes all other records and reports once',
  async (_name, [sql, left]) => {
    const { file, vault, pass } = await expiringVault();
    await tamperFile(file, (connection) => void connection.exec(sql));
    pass(2 * HOUR);
    for (const removed of [TOKENS + 1 - left, 0]) {
      expect(await vault.sweep()).toBe(removed);
      const records = left === 1 ? '1 expired record is' : `${left} expired records are`;
      expect(await vault.notices()).toEqual([`${records} damaged and not removed: run \`vault doctor\``]);
    }
    await tamperFile(file, (connection) => {
      const count = 'SELECT (SELECT count(*) FROM token) + (SELECT count(*) FROM application WHERE expires_at > 0)';
      expect(connection.prepare(count).pluck().get()).toBe(left);
    });
  },
);

it('row numbers that the vault never assigns do not keep a sweep', async () => {
  const { file, vault, pass } = await expiringVault();
  await tamperFile(file, (connection) => {
    const names = connection.prepare('PRAGMA table_info(token)').all() as { readonly name: string }[];
    const copied = names.map(
      ({ name }) =>
        ({ token: '1152921504606846977 + 2 * value', id: "'far-' || value", expires_at: '1000' })[name] ?? name,
    );
    connection.exec(`INSERT INTO token (${names.map(({ name }) => name)}) SELECT ${copied}
      FROM (SELECT * FROM token WHERE id = 'token-0'), (SELECT value FROM json_each('[${Array.from({ length: 150 }, (_, n) => n)}]'))`);
  });
  pass(2 * HOUR);
  expect(await vault.sweep()).toBe(TOKENS + 1);
});

it('reports nothing when all expired records are sound', async () => {
  const { vault, pass } = await expiringVault();
  pass(2 * HOUR);
  expect(await vault.sweep()).toBe(TOKENS + 1);
  expect(await vault.notices()).toEqual([]);
});
