import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runVault, startServe } from '../scripts/run-script.ts';

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

it('asks before a rotation takes the keys of snapshots away', { timeout: 60_000 }, async () => {
  expect(await result(['keys', 'rotate'])).toMatchObject({ tenants: [{ key_id: 3 }] });
  await result(['snapshot', 'save', 'one']);
  await result(['snapshot', 'save', 'two']);
  const hint = 'hint: --yes confirms it. 2 snapshots can never be loaded again.';
  expect(await vault(['keys', 'rotate'])).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringContaining(hint),
  });
  expect((await result(['snapshot', 'list'])).data[0]).not.toHaveProperty('refused');
  const rotated = await vault(['keys', 'rotate', '--yes']);
  expect(rotated).toMatchObject({ exitCode: 0, stderr: 'vault: 2 snapshots can never be loaded again\n' });
  expect(await vault(['snapshot', 'load', 'one', '--yes'])).toMatchObject({ exitCode: 6 });
  // They are lost already.
  expect(await vault(['keys', 'rotate'])).toMatchObject({ exitCode: 0, stderr: '' });
  expect((await vault(['keys', 'rotate', '--help'])).stdout).toMatch(
    /Snapshots\s+that\s+were\s+saved\s+before\s+can\s+never/,
  );
});
