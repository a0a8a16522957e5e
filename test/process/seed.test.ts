import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { cleanEnvironment, startServe } from '../scripts/run-script.ts';
import { endOf, makePlace, type Place, VAULT_BIN } from './cli-fixture.ts';

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
  const words = ['seed', 'apply', 'seed.yaml', '--seed', '7', '--out', 'json'];

  it('prints the same bytes for two new vaults and for every run, until a key is regenerated', async () => {
    const [a, b] = [await fresh('a'), await fresh('b')];
    const first = await place.vault(words, a);
    const warning = '--seed makes predictable API keys: keep no secrets in this vault';
    const stderr = `vault: ${warning}\nvault: 203 created, 0 changed, 0 unchanged, 0 removed\n`;
    expect(first).toMatchObject({ exitCode: 0, stderr });
    expect((await place.vault(words, b)).stdout).toBe(first.stdout);
    expect((await place.vault(words, a)).stdout).toBe(first.stdout);
    const { apps } = JSON.parse(first.stdout);
    const made = await place.vault('tokens create --type token --text x -q', { ...a, VAULT_API_KEY: apps.web.key });
    expect(made.exitCode).toBe(0);
    await place.vault(['apps', 'regenerate', apps.web.id], a);
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
    expect((await place.vault('apps list --field pagination.total_items', env)).stdout).toBe('2\n');
    expect((await place.vault('seed apply seed.yaml --field created', env)).stdout).toBe('203\n');
    const again = await place.vault('seed apply seed.yaml --seed 7', env);
    expect(again).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('was applied with --seed 0, not with --seed 7'),
    });
    await daemon.stop();
  });
});

it('vault seed apply --out-file writes a whole file with mode 0600', async () => {
  const env = await fresh('a');
  const ran = await place.vault('seed apply seed.yaml --out dotenv --out-file seeded.env', env);
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

it('two applies of one seed at once: one succeeds, the other exits with 6, and nothing is created twice', async () => {
  const env = await fresh('a');
  const words = ['seed', 'apply', 'seed.yaml', '--field', 'created'];
  const ran = await Promise.all([place.vault(words, env), place.vault(words, env)]);
  // The second apply may also start after the first has ended.
  expect(['0,0', '0,6']).toContain(
    ran
      .map(({ exitCode }) => exitCode)
      .sort()
      .join(),
  );
  const hint = 'hint: apply the seed again when it has ended';
  for (const { exitCode, stderr } of ran) {
    if (exitCode === 0) expect(stderr).toMatch(/^(?:vault: the API keys were not printed.*\nhint: .*\n)?$/);
    else expect(stderr).toContain(`vault: another apply of this seed is running\n${hint}`);
  }
  const names = await place.vault('apps list --all --field name', env);
  expect(names.stdout.trim().split('\n').sort()).toEqual(['management', 'reader', 'seed: default', 'web']);
  expect((await place.vault(words, env)).stdout).toBe('0\n');
});

describe.runIf(process.platform !== 'win32')('a signal', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    '%s ends an apply: %d',
    async (signal, code) => {
      const env = await fresh('a');
      writeFileSync(place.inside('many.yaml'), 'tokens: { cards: { generate: card, count: 10000 } }');
      const child = spawn(process.execPath, [VAULT_BIN, 'seed', 'apply', 'many.yaml'], {
        cwd: place.cwd,
        env: cleanEnvironment(env),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const ended = endOf(child, 60_000);
      const count = async () => Number((await place.vault('apps list --field pagination.total_items', env)).stdout);
      while ((await count()) < 2 && child.exitCode === null) await sleep(20);
      child.kill(signal);
      expect(await ended).toMatchObject({ stdout: '', stderr: '', exitCode: code });
    },
    90_000,
  );
});

describe.runIf(process.platform !== 'win32')('a kill', () => {
  it('during an apply: the next apply completes it, and a further one changes nothing', async () => {
    const env = await fresh('a');
    writeFileSync(place.inside('many.yaml'), `${SEED}  many: { generate: bank, count: 6000 }\n`);
    for (const milliseconds of [150, 250, 350, 500, 700]) {
      const child = spawn(process.execPath, [VAULT_BIN, 'seed', 'apply', 'many.yaml'], {
        cwd: place.cwd,
        env: cleanEnvironment(env),
        stdio: 'ignore',
      });
      const closed = new Promise((resolve) => child.once('close', resolve));
      await sleep(milliseconds);
      child.kill('SIGKILL');
      await closed;
    }
    expect(await place.vault('seed apply many.yaml', env)).toMatchObject({ exitCode: 0 });
    expect((await place.vault('seed apply many.yaml', env)).stdout).toBe(
      '{"seed":"default","created":0,"changed":0,"unchanged":6203,"removed":0}\n',
    );
    const names = await place.vault('apps list --all --field name', env);
    expect(names.stdout.trim().split('\n').sort()).toEqual(['management', 'reader', 'seed: default', 'web']);
    expect(await place.vault('doctor --file a.db')).toMatchObject({ exitCode: 0 });
  }, 60_000);
});
