import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { parseStore } from '../../src/vault/location.ts';
import { initStore, type TestStore } from '../postgres/init-store.ts';
import { openTestClient } from '../postgres/write-queue-fixture.ts';
import { makePlace, send } from './cli-fixture.ts';

const place = makePlace();
let store: TestStore;
let key = '';
let keyId = '';

beforeAll(async () => {
  store = await initStore(place.cwd, 'v');
  const rule = 'container=/ transform=reveal permissions=token:create,token:read';
  const words = ['apps', 'create', '--name', 'all', '--type', 'private', '--rule', rule];
  const made = await place.vault(words, { VAULT_API_KEY: store.key, ...opening() });
  ({ id: keyId, key } = JSON.parse(made.stdout));
}, 60_000);

const opening = () => ({ VAULT_STORE: store.url, VAULT_KEY_FILE: 'v.db.key' });

let count = 0;
const serve = (...more: readonly string[]) => place.serve(more, { env: opening(), readyName: `ready-${++count}.json` });

it('a key that one daemon deleted, or that has expired, fails on the next request to any', {
  timeout: 60_000,
}, async () => {
  const [a, b] = await Promise.all([serve(), serve()]);
  const keys = `/applications/${keyId}/keys`;
  const statuses = async (apiKey: string) =>
    (await Promise.all([a, b].map(({ url }) => send(url, 'GET /tokens', apiKey)))).map(({ status }) => status);
  for (let n = 0; n < 3; n += 1) {
    const { body: added } = await send(a.url, `POST ${keys}`, store.key);
    expect(await statuses(added.key)).toEqual([200, 200]);
    expect(await send(a.url, `DELETE ${keys}/${added.id}`, store.key)).toMatchObject({ status: 204 });
    expect(await send(b.url, 'GET /tokens', added.key)).toMatchObject({ status: 401 });
    expect(await statuses(added.key)).toEqual([401, 401]);
    expect(await send(b.url, 'GET /tokens', key)).toMatchObject({ status: 200 });
  }
  const expires_at = new Date(Date.now() + 2_000).toISOString();
  const { body: brief } = await send(a.url, `POST ${keys}`, store.key, { expires_at });
  expect(await statuses(brief.key)).toEqual([200, 200]);
  await sleep(Date.parse(expires_at) - Date.now() + 50);
  expect(await statuses(brief.key)).toEqual([401, 401]);
});

it('shows metrics without the sizes of a file', { timeout: 60_000 }, async () => {
  const daemon = await serve('--metrics', '127.0.0.1:0');
  expect((await send(daemon.url, 'POST /tokens', key, { type: 'token', data: 'measured' })).status).toBe(201);
  const text = await (await fetch(String(daemon.ready['metrics']))).text();
  expect(text).toMatch(/^vault_commit_writes_count [1-9]/m);
  expect(text).toMatch(/^vault_tokens\{type="token"\} [1-9]/m);
  expect(text).toContain('vault_ready 1\n');
  expect(text).not.toMatch(/^vault_(file|wal)_bytes \d/m);
});

it('waits for a database that is not reachable, but not for a missing vault', { timeout: 60_000 }, async () => {
  const words = ['serve', '--port', '0', '--store-wait', '1s'];
  const nobody = store.url.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1');
  const before = performance.now();
  const waited = await place.vault(words, { ...opening(), VAULT_STORE: nobody });
  expect(waited.exitCode).toBe(8);
  expect(waited.stderr).toMatch(/accepts writes; waiting\n(?:.*\n)*.*accepts writes\n/);
  expect(performance.now() - before).toBeGreaterThan(1000);
  const missing = await place.vault(words, { ...opening(), VAULT_STORE: `${store.url}&schema=other` });
  expect(missing).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('vault init --store URL') });
});

it('init and move print the URL of the database with its parameters', { timeout: 60_000 }, async () => {
  const init = `${store.url}&schema=whole`;
  const made = await place.vault(['init', '--store', init, '--field', 'store'], { VAULT_KEY_FILE: 'v.db.key' });
  expect(made).toMatchObject({ exitCode: 0, stdout: `${init}\n` });
  const words = ['move', '--from', init, '--to', 'whole.db', '--keep-source', '--field', 'from'];
  const moved = await place.vault(words, { VAULT_KEY_FILE: 'v.db.key' });
  expect(moved).toMatchObject({ exitCode: 0, stdout: `${init}\n` });
});

it('move names the role that serves the vault', { timeout: 60_000 }, async () => {
  const to = `${store.url}&schema=granted`;
  const words = ['move', '--from', store.url, '--to', to, '--keep-source', '--grant', 'pg_monitor'];
  const moved = await place.vault(words, { VAULT_KEY_FILE: 'v.db.key' });
  const served = to.replace(/\/\/[^@]*@/, '//pg_monitor@');
  expect(moved).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(`vault doctor --store '${served}'`) });
});

it('doctor gives hints for a database', { timeout: 60_000 }, async () => {
  const hints = async (sql: string) => {
    await (await openTestClient(parseStore(store.url, false).url)).run({ text: sql });
    const { exitCode, stderr } = await place.vault('doctor', opening());
    return [exitCode, stderr.split('hint: ').at(-1)];
  };
  expect(await hints('ALTER TABLE vault.reply ENABLE ROW LEVEL SECURITY')).toEqual([
    9,
    'undo the changes as the owner of the tables\n',
  ]);
  await hints('ALTER TABLE vault.reply DISABLE ROW LEVEL SECURITY');
  expect(await hints('UPDATE vault.sweep SET swept_at = -1')).toEqual([
    9,
    'restore a backup: `vault restore` (database: pg_restore)\n',
  ]);
});

it('a profile names a database and its key', { timeout: 60_000 }, async () => {
  const words = ['profile', 'add', 'database', '--store', store.url, '--key-file', 'v.db.key', '--api-key', '-'];
  expect(await place.vault(words, {}, store.key)).toMatchObject({ exitCode: 0 });
  const shown = await place.vault('apps whoami --profile database --field type');
  expect(shown).toMatchObject({ stdout: 'management\n', exitCode: 0 });
  const relative = await place.vault(['profile', 'add', 'other', '--store', `${store.url}&passfile=pgpass`]);
  expect(relative).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('relative path pgpass') });
});
