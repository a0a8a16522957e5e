import { copyFile, readFile, rename, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Served, startServe } from '../scripts/run-script.ts';
import { makePlace, send } from './cli-fixture.ts';

// Tests the file commands of a console whose process serves the vault: §4 and §7 of the console's design.

const place = makePlace();
const file = place.inside('vault.db');
let daemon: Served;
let privateKey = '';
let headers: Record<string, string>;

async function vault(line: string) {
  const { stdout } = await place.vault(`${line} --output json --file ${file}`);
  return JSON.parse(stdout);
}

beforeAll(async () => {
  daemon = await startServe(place.cwd, ['--dev', '--file', file]);
  privateKey = String(daemon.ready['private_key']);
  const code = new URL(String(daemon.ready['ui'])).hash.slice('#code='.length);
  const own = { origin: daemon.url, 'content-type': 'application/json' };
  const opened = await fetch(`${daemon.url}/ui/session`, {
    method: 'POST',
    headers: own,
    body: JSON.stringify({ code }),
  });
  const { secret } = (await opened.json()) as { readonly secret: string };
  headers = { ...own, cookie: opened.headers.get('set-cookie')?.replace(/;.*/, '') ?? '', 'x-vault-console': secret };
  const items = Array.from({ length: 100 }, (_, n) => ({ type: 'token', data: `Secret ${n}` }));
  for (let turn = 0; turn < 30; turn += 1) {
    expect((await send(daemon.url, 'POST /tokenize', privateKey, items)).status).toBe(201);
  }
}, 60_000);
afterAll(() => daemon.stop());

async function ask(method: 'GET' | 'POST', name: string) {
  const response = await fetch(`${daemon.url}/ui/holder/${name}`, { method, headers });
  const text = await response.text();
  for (const secret of ['management_key', 'private_key']) expect(text).not.toContain(daemon.ready[secret]);
  expect(text).not.toContain((await readFile(`${file}.key`)).toString('hex'));
  return { status: response.status, text, body: JSON.parse(text) };
}

describe('the console prints what the command prints', () => {
  test.each([
    ['verify', 'audit verify'],
    ['doctor', 'doctor'],
  ])('%s', async (name, line) => {
    const { body } = await ask('POST', name);
    expect(body).toEqual(await vault(line));
    expect(body.ok).toBe(true);
  });

  test('keys list and keys list --tenants', async () => {
    const { body } = await ask('GET', 'keys');
    const { data } = await vault('keys list');
    expect(body).toEqual({ ...(await vault('keys list --tenants')), slots: data });
  });

  test('facts about the file', async () => {
    const { body } = await ask('GET', 'file');
    expect(body).toMatchObject({ file, format: 1 });
    expect(body.bytes).toBeGreaterThan(100_000);
  });
});

test('calls are answered while doctor checks the file', async () => {
  let isDone = false;
  const doctor = ask('POST', 'doctor').finally(() => {
    isDone = true;
  });
  let longest = 0;
  let calls = 0;
  while (!isDone) {
    const start = performance.now();
    await (await fetch(`${daemon.url}/livez`)).text();
    longest = Math.max(longest, performance.now() - start);
    calls += 1;
  }
  expect((await doctor).body.ok).toBe(true);
  expect(calls).toBeGreaterThan(10);
  expect(longest).toBeLessThan(250);
});

test('two requests at once share one run', async () => {
  const [first, second] = await Promise.all([ask('POST', 'verify'), ask('POST', 'verify')]);
  expect(first.text).toBe(second.text);
});

test('does not open a file that replaced the vault, because SQLite would end the log of the vault', async () => {
  const aside = place.inside('aside.db');
  await rename(file, aside);
  await copyFile(aside, file);
  // The vault looks at the path ten times a second.
  await new Promise((resolve) => setTimeout(resolve, 200));
  const moved = [await ask('GET', 'keys'), await ask('POST', 'verify'), await ask('POST', 'doctor')];
  await rename(aside, file);
  expect(moved.map(({ status, body }) => [status, body.type])).toEqual(
    moved.map(() => [503, 'urn:token-vault:problem:vault_moved']),
  );
  const { status } = await send(daemon.url, 'GET /tokens', privateKey);
  expect([status, (await ask('POST', 'doctor')).body.checked.tokens]).toEqual([200, 3000]);
});

test('a removed key no longer opens the file, and the reply reports it', async () => {
  const added = place.inside('added.key');
  await vault(`keys add --new-key-file ${added}`);
  const { data }: { readonly data: readonly { readonly slot: number; readonly current: boolean }[] } =
    await vault('keys list');
  const own = data.find(({ current }) => current)?.slot;
  await vault(`keys remove ${own} --yes --key-file ${added}`);
  const { status, body } = await ask('GET', 'keys');
  expect([status, body.detail]).toEqual([500, expect.stringMatching(/the key does not open/)]);
  await writeFile(`${file}.key`, await readFile(added));
  expect((await ask('GET', 'keys')).status).toBe(200);
});
