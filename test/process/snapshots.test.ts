import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { seededNumbers } from '../checks/perform.ts';
import { cleanEnvironment, runVault, startServe } from '../scripts/run-script.ts';
import { VAULT_BIN } from './cli-fixture.ts';
import { makeTokens } from './tokens-on-file.ts';

const PERMISSIONS = ['token:create', 'token:read', 'token:delete'];

let cwd = '';
let env: Readonly<Record<string, string>> = {};
const vault = (words: readonly string[], own: Readonly<Record<string, string>> = {}) =>
  runVault(words, { cwd, env: { ...env, ...own } });
const result = async (words: readonly string[], own: Readonly<Record<string, string>> = {}) => {
  const ran = await vault(words, own);
  expect(ran).toMatchObject({ exitCode: 0 });
  return JSON.parse(ran.stdout);
};

/** Starts a command and kills it after so many milliseconds, if it has not ended by itself. */
async function killed(words: readonly string[], afterMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [VAULT_BIN, ...words], { cwd, env: cleanEnvironment(env), stdio: 'ignore' });
  const ended = new Promise<boolean>((resolve) => child.on('close', (_code, signal) => resolve(signal === 'SIGKILL')));
  await sleep(afterMs);
  child.kill('SIGKILL');
  return ended;
}

beforeEach(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), 'vault-snapshots-'));
  const made = JSON.parse((await runVault(['init'], { cwd })).stdout);
  const rule = { description: '', priority: 1, container: '/', transform: 'reveal', permissions: PERMISSIONS };
  const words = [
    'apps',
    'create',
    '--name',
    'a',
    '--type',
    'private',
    '--rule',
    JSON.stringify(rule),
    '--field',
    'key',
  ];
  const { stdout } = await runVault(words, { cwd, env: { VAULT_API_KEY: made.application.key } });
  env = { VAULT_API_KEY: stdout.trim() };
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

it('saves, resets and loads under a daemon, which answers from the records that there are', {
  timeout: 60_000,
}, async () => {
  const daemon = await startServe(cwd, ['--log', 'false']);
  const remote = { VAULT_URL: String(daemon.ready['url']) };
  await result(['tokens', 'create', '--type', 'token', '--id', 'first', '--data', '"one"'], remote);
  expect(await result(['snapshot', 'save', 'base'])).toMatchObject({ name: 'base', tokens: 1 });

  const unconfirmed = await vault(['reset']);
  expect(unconfirmed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') });
  expect(await result(['reset', '--yes'])).toEqual({ removed_tokens: 1 });
  expect(await vault(['tokens', 'get', 'first'], remote)).toMatchObject({ exitCode: 3 });
  expect(await vault(['snapshot', 'load', 'base'])).toMatchObject({ exitCode: 2 });
  expect(await result(['snapshot', 'load', 'base', '--yes'])).toMatchObject({ tokens: 1 });
  expect(await result(['tokens', 'get', 'first'], remote)).toMatchObject({ data: 'one' });

  expect(await vault(['snapshot', 'load', 'none', '--yes'])).toMatchObject({ exitCode: 3, stdout: '' });
  expect(await vault(['snapshot', 'delete', 'none', '--yes'])).toMatchObject({ exitCode: 3, stdout: '' });
  expect(await vault(['snapshot', 'save', 'base'])).toMatchObject({
    exitCode: 6,
    stdout: '',
    stderr: 'vault: there is a snapshot base\nhint: --replace saves over it\n',
  });
  const noTenant = await vault(['reset', '--yes', '--tenant', '00000000-0000-4000-8000-000000000000']);
  expect(noTenant).toMatchObject({ exitCode: 3, stdout: '' });
  expect(await vault(['snapshot', 'save', '../out'])).toMatchObject({ exitCode: 2, stdout: '' });
  const elsewhere = await vault(['--url', remote.VAULT_URL, 'snapshot', 'list']);
  expect(elsewhere).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('works on the file') });
  expect(await result(['snapshot', 'delete', 'base', '--yes'])).toEqual({ name: 'base' });
  expect(await result(['snapshot', 'list'])).toEqual({ data: [] });
  expect(await daemon.stop()).toBe(0);
});

it('leaves a whole state when it is killed: the one before, or the one after', { timeout: 180_000 }, async () => {
  const random = seededNumbers(8);
  const ids = Array.from({ length: 400 }, (_, n) => `token-${n}`);
  await makeTokens(
    path.join(cwd, 'vault.db'),
    readFileSync(path.join(cwd, 'vault.db.key')),
    env['VAULT_API_KEY'] ?? '',
    ids,
  );
  await result(['snapshot', 'save', 'full']);
  await result(['reset', '--yes']);
  await result(['snapshot', 'save', 'empty']);
  const started = performance.now();
  await result(['snapshot', 'load', 'full', '--yes']);
  const longest = performance.now() - started;

  const counts = new Set<number>();
  let kills = 0;
  for (let round = 0; round < 12; round += 1) {
    const after = longest * (0.3 + 0.8 * random());
    const load = ['snapshot', 'load', round % 2 === 0 ? 'empty' : 'full', '--yes'];
    const save = ['snapshot', 'save', 'again', '--replace'];
    if (await killed(round % 3 === 2 ? save : load, after)) kills += 1;
    const listed = await result(['tokens', 'list', '--size', '1']);
    counts.add(listed.pagination.total_items);
  }
  expect(kills).toBeGreaterThan(2);
  expect([...counts].filter((count) => count !== 0 && count !== ids.length)).toEqual([]);
  expect(await result(['doctor'])).toMatchObject({ ok: true });
  for (const { refused } of (await result(['snapshot', 'list'])).data) expect(refused).toBeUndefined();
  expect(await result(['snapshot', 'load', 'full', '--yes'])).toMatchObject({ tokens: ids.length });
});
