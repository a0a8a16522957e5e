import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { initStore, type TestStore } from '../postgres/init-store.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { type Ended, endOf, makePlace, VAULT_BIN } from './cli-fixture.ts';

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

interface Daemon {
  readonly child: ChildProcess;
  readonly url: string;
  /** The URL of the metrics, with `--metrics`. */
  readonly metrics: string;
  readonly ended: Promise<Ended>;
}

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});

let count = 0;
async function serve(...more: readonly string[]): Promise<Daemon> {
  count += 1;
  const ready = place.inside(`ready-${count}.json`);
  const child = spawn(process.execPath, [VAULT_BIN, 'serve', '--port', '0', '--ready-file', ready, ...more], {
    cwd: place.cwd,
    env: cleanEnvironment(opening()),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  started.push(child);
  const ended = endOf(child, 60_000);
  while (!existsSync(ready)) {
    if (child.exitCode !== null) throw new Error((await ended).stderr);
    await sleep(20);
  }
  const { url, metrics } = JSON.parse(readFileSync(ready, 'utf8'));
  return { child, url, metrics, ended };
}

async function ask({ url }: Pick<Daemon, 'url'>, path: string, apiKey: string, body?: object | 'none') {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'svc-api-key': apiKey, ...(typeof body === 'object' && { 'content-type': 'application/json' }) },
    ...(typeof body === 'object' && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

const create = (daemon: Daemon, data: string, id?: string) =>
  ask(daemon, '/tokens', key, { type: 'token', data, ...(id !== undefined && { id }) });

it('two daemons read each other’s changes at once', { timeout: 60_000 }, async () => {
  const [a, b] = await Promise.all([serve(), serve()]);
  expect(await ask(a, '/readyz', '')).toMatchObject({ status: 200, body: { status: 'ready' } });
  for (let n = 0; n < 20; n += 1) {
    const { body, status } = await create(n % 2 === 0 ? a : b, `text ${n}`);
    expect(status).toBe(201);
    expect(await ask(n % 2 === 0 ? b : a, `/tokens/${body.id}`, key)).toMatchObject({ body: { data: `text ${n}` } });
  }
});

it('a key that one daemon replaced fails on the next request to the other daemon', { timeout: 60_000 }, async () => {
  const [a, b] = await Promise.all([serve(), serve()]);
  for (let n = 0; n < 10; n += 1) {
    // Both daemons know the key.
    expect([await ask(a, '/tokens', key), await ask(b, '/tokens', key)]).toMatchObject([
      { status: 200 },
      { status: 200 },
    ]);
    const { body, status } = await ask(a, `/applications/${keyId}/regenerate`, store.key, 'none');
    expect(status).toBe(200);
    expect(await ask(b, '/tokens', key)).toMatchObject({ status: 401 });
    key = body.key;
    expect(await ask(b, '/tokens', key)).toMatchObject({ status: 200 });
  }
});

it('a key that one daemon deleted, or that has expired, fails on the next request to any', {
  timeout: 60_000,
}, async () => {
  const [a, b] = await Promise.all([serve(), serve()]);
  const keys = `/applications/${keyId}/keys`;
  const statuses = async (apiKey: string) =>
    (await Promise.all([a, b].map((daemon) => ask(daemon, '/tokens', apiKey)))).map(({ status }) => status);
  for (let n = 0; n < 10; n += 1) {
    const { body: added } = await ask(a, keys, store.key, 'none');
    expect(await statuses(added.key)).toEqual([200, 200]);
    const deleted = await fetch(`${a.url}${keys}/${added.id}`, {
      method: 'DELETE',
      headers: { 'svc-api-key': store.key },
    });
    expect(deleted.status).toBe(204);
    expect(await ask(b, '/tokens', added.key)).toMatchObject({ status: 401 });
    expect(await statuses(added.key)).toEqual([401, 401]);
    expect(await ask(b, '/tokens', key)).toMatchObject({ status: 200 });
  }
  const expires_at = new Date(Date.now() + 2_000).toISOString();
  const { body: brief } = await ask(a, keys, store.key, { expires_at });
  expect(await statuses(brief.key)).toEqual([200, 200]);
  await sleep(Date.parse(expires_at) - Date.now() + 50);
  expect(await statuses(brief.key)).toEqual([401, 401]);
});

it('a killed daemon loses no change that it answered', { timeout: 60_000 }, async () => {
  const [a, b] = await Promise.all([serve(), serve()]);
  const answered: string[] = [];
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let n = 0; ; n += 1) {
      const reply = await create(a, `${writer}`, `killed-${writer}-${n}`).catch(() => undefined);
      if (reply === undefined) return;
      if (reply.status === 201) answered.push(`killed-${writer}-${n}`);
    }
  });
  while (answered.length < 60) await sleep(5);
  a.child.kill('SIGKILL');
  await Promise.all(writers);
  // The other daemon continues, and the audit is complete.
  expect(await create(b, 'after')).toMatchObject({ status: 201 });
  for (const id of answered) expect(await ask(b, `/tokens/${id}`, key)).toMatchObject({ status: 200 });
  for (const words of ['doctor --field ok', 'audit verify --field ok']) {
    expect(await place.vault(words, opening())).toMatchObject({ stdout: 'true\n', exitCode: 0 });
  }
});

it('shows metrics without the sizes of a file', { timeout: 60_000 }, async () => {
  const daemon = await serve('--metrics', '127.0.0.1:0');
  expect((await create(daemon, 'measured')).status).toBe(201);
  const text = await (await fetch(daemon.metrics)).text();
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

it('export and import move tokens between a database and a file', { timeout: 60_000 }, async () => {
  const management = await place.init('f');
  const fileKey = await place.application('f', management, 'token:create,token:read');
  for (const id of ['moved-1', 'moved-2']) {
    const words = ['tokens', 'create', '--type', 'card', '--id', id, '--data', '{"number":"4242424242424242"}'];
    expect(await place.vault(words, { ...opening(), VAULT_API_KEY: key })).toMatchObject({ exitCode: 0 });
  }
  const out = await place.vault('export --plaintext --out moved.ndjson --field view', opening());
  expect(out).toMatchObject({ exitCode: 0, stdout: 'full\n' });
  const file = { VAULT_FILE: 'f.db', VAULT_API_KEY: fileKey };
  expect(await place.vault('import moved.ndjson --field failed', file)).toMatchObject({ stdout: '0\n', exitCode: 0 });
  expect(await place.vault('tokens get moved-1 --field data.number', file)).toMatchObject({
    stdout: '4242424242424242\n',
  });
  const back = await place.vault('import moved.ndjson --field skipped', { ...opening(), VAULT_API_KEY: key });
  expect(back).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\d+\n$/) });
  expect(Number(back.stdout)).toBeGreaterThan(1);
});

it('a profile names a database and its key', { timeout: 60_000 }, async () => {
  const words = ['profile', 'add', 'database', '--store', store.url, '--key-file', 'v.db.key', '--api-key', '-'];
  expect(await place.vault(words, {}, store.key)).toMatchObject({ exitCode: 0 });
  const shown = await place.vault('apps whoami --profile database --field type');
  expect(shown).toMatchObject({ stdout: 'management\n', exitCode: 0 });
  const relative = await place.vault(['profile', 'add', 'other', '--store', `${store.url}&passfile=pgpass`]);
  expect(relative).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('relative path pgpass') });
});

it('a daemon whose key was closed is not ready', { timeout: 60_000 }, async () => {
  const daemon = await serve();
  const added = await place.vault('keys add --new-key-file next.key', opening());
  expect(added).toMatchObject({ exitCode: 0 });
  const next = { ...opening(), VAULT_KEY_FILE: 'next.key' };
  expect(await place.vault('keys rotate --master --yes', next)).toMatchObject({ exitCode: 0 });
  const locked = { status: 503, body: { type: 'urn:token-vault:problem:vault_locked' } };
  expect(await ask(daemon, '/readyz', '')).toMatchObject(locked);
  expect(await ask(daemon, '/tokens', key)).toMatchObject(locked);
});
