import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startServe } from '../scripts/run-script.ts';
import { makePlace, type Place } from './cli-fixture.ts';

const SEED = `
apps:
  web: { type: public, permissions: [token:create] }
  reader: { type: private, permissions: [token:read] }
tokens:
  visa: { type: card, data: { number: "4242424242424242" }, metadata: { by: "\${apps.web.id}" } }
  cards: { generate: card, count: 100 }
  people: { generate: person, count: 100 }
`;

let place: Place;
beforeEach(() => {
  place = makePlace(onTestFinished);
  writeFileSync(place.inside('seed.yaml'), SEED);
});

async function fresh(name: string): Promise<Readonly<Record<string, string>>> {
  return { VAULT_FILE: `${name}.db`, VAULT_API_KEY: await place.init(name) };
}

describe('vault seed apply --seed', () => {
  const words = ['seed', 'apply', 'seed.yaml', '--seed', '7', '--out', '-'];

  it('prints the same bytes for two new vaults and for every run, until a key is regenerated', async () => {
    const [a, b] = [await fresh('a'), await fresh('b')];
    const first = await place.vault(words, a);
    const warning = '--seed makes predictable API keys: keep no secrets in this vault';
    const stderr = `vault: ${warning}\nvault: 203 created, 0 changed, 0 unchanged\n`;
    expect(first).toMatchObject({ exitCode: 0, stderr });
    expect((await place.vault(words, b)).stdout).toBe(first.stdout);
    expect((await place.vault(words, a)).stdout).toBe(first.stdout);
    const { apps } = JSON.parse(first.stdout);
    const made = await place.vault('tokens create --type token --text x -q', { ...a, VAULT_API_KEY: apps.web.key });
    expect(made.exitCode).toBe(0);
    await place.vault(['apps', 'regenerate', apps.web.id, '--yes'], a);
    expect(JSON.parse((await place.vault(words, a)).stdout).apps.web).toEqual({ id: apps.web.id });
    expect(await place.vault('doctor --file a.db')).toMatchObject({ exitCode: 0 });
    const other = await place.vault(words.with(4, '8'), await fresh('c'));
    expect(JSON.parse(other.stdout).apps.web.key).not.toBe(apps.web.key);
  });

  it('over HTTP fails only for applications whose keys it cannot set', async () => {
    const { VAULT_API_KEY = '' } = await fresh('a');
    const daemon = await startServe(place.cwd, ['--file', 'a.db', '--log', 'false']);
    const env = { VAULT_URL: String(daemon.ready['url']), VAULT_API_KEY };
    expect(await place.vault(words, env)).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining('--seed: a daemon gives new applications random ids and keys (web, reader)'),
    });
    expect((await place.vault('apps list --field pagination.total_items', env)).stdout).toBe('1\n');
    expect((await place.vault('seed apply seed.yaml --field created', env)).stdout).toBe('203\n');
    // --seed also determines the test data, which the second apply changes.
    const again = await place.vault('seed apply seed.yaml --seed 7', env);
    expect(again.stdout).toBe('{"seed":"default","created":0,"changed":200,"unchanged":3}\n');
    await daemon.stop();
  });
});

it('vault seed apply --out writes a whole file with mode 0600', async () => {
  const env = await fresh('a');
  const ran = await place.vault('seed apply seed.yaml --format dotenv --out seeded.env', env);
  expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readFileSync(place.inside('seeded.env'), 'utf8')).toMatch(/^APP_WEB_ID='[0-9a-f-]{36}'\nAPP_WEB_KEY='key_/);
  if (process.platform !== 'win32') expect(statSync(place.inside('seeded.env')).mode & 0o777).toBe(0o600);
  expect(readdirSync(place.cwd).filter((name) => name.includes('tmp'))).toEqual([]);
});

it('vault seed apply -: errors never contain a secret of the seed', async () => {
  const env = await fresh('a');
  const secret = '4012888888881881';
  for (const text of [`tokens: {one: {type: card, data: {number: "${secret}`, `tokens: {one: {type: "${secret}"}}`]) {
    const ran = await place.vault('seed apply -', env, text);
    expect(ran).toMatchObject({ exitCode: 7, stdout: '', stderr: expect.stringContaining('<stdin>:1: ') });
    expect(ran.stderr).not.toContain(secret);
  }
});

it('vault seed apply with VAULT_SEED needs a --dev vault', async () => {
  const env = { ...(await fresh('a')), VAULT_SEED: '7' };
  expect(await place.vault('seed apply seed.yaml', env)).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringContaining('VAULT_SEED makes predictable API keys'),
  });
});

it('vault serve --seed rejects a public address', async () => {
  const words = ['serve', '--dev', '--seed', '7', '--host', '0.0.0.0', '--insecure-http', '--port', '0'];
  expect(await place.vault(words)).toMatchObject({
    exitCode: 2,
    stderr: 'vault: --seed makes predictable API keys, which --host 0.0.0.0 would expose\n',
  });
});
