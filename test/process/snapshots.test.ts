import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Command, startServe } from '../scripts/run-script.ts';
import { makePlace, type Place } from './cli-fixture.ts';

let place: Place;
let cwd: string;
let env: Readonly<Record<string, string>> = {};
const vault = (command: Command, own: Readonly<Record<string, string>> = {}) =>
  place.vault(command, { ...env, ...own });
const result = async (command: Command, own: Readonly<Record<string, string>> = {}) => {
  const ran = await vault(command, own);
  expect(ran).toMatchObject({ exitCode: 0 });
  return JSON.parse(ran.stdout);
};

beforeEach(async () => {
  place = makePlace(onTestFinished);
  cwd = place.cwd;
  env = {
    VAULT_API_KEY: await place.application('vault', await place.init('vault'), 'token:create,token:read,token:delete'),
  };
});

it('saves, resets and loads under a daemon, which serves the current records', {
  timeout: 60_000,
}, async () => {
  const daemon = await startServe(cwd, ['--log', 'false']);
  const remote = { VAULT_URL: String(daemon.ready['url']) };
  await result(`tokens create --type token --id first --data '"one"'`, remote);
  expect(await result('snapshot save base')).toMatchObject({ name: 'base', tokens: 1 });

  const unconfirmed = await vault('reset');
  expect(unconfirmed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') });
  expect(await result('reset --yes')).toEqual({ removed_tokens: 1 });
  expect(await vault('tokens get first', remote)).toMatchObject({ exitCode: 3 });
  expect(await vault('snapshot load base')).toMatchObject({ exitCode: 2 });
  expect(await result('snapshot load base --yes')).toMatchObject({ tokens: 1 });
  expect(await result('tokens get first', remote)).toMatchObject({ data: 'one' });

  expect(await vault('snapshot load none --yes')).toMatchObject({ exitCode: 3, stdout: '' });
  expect(await vault('snapshot delete none --yes')).toMatchObject({ exitCode: 3, stdout: '' });
  expect(await vault('snapshot save base')).toMatchObject({
    exitCode: 6,
    stdout: '',
    stderr: 'vault: snapshot base already exists\nhint: pass --replace to overwrite it\n',
  });
  const noTenant = await vault('reset --yes --tenant 00000000-0000-4000-8000-000000000000');
  expect(noTenant).toMatchObject({ exitCode: 3, stdout: '' });
  expect(await vault('snapshot save ../out')).toMatchObject({ exitCode: 2, stdout: '' });
  const elsewhere = await vault(['--url', remote.VAULT_URL, 'snapshot', 'list']);
  expect(elsewhere).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/only a daemon started with --dev.*\nhint: name the file with --file/),
  });
  const both = await vault(['--url', remote.VAULT_URL, '--file', 'vault.db', 'snapshot', 'list']);
  expect(both).toMatchObject({ exitCode: 2, stderr: 'vault: only one of --url and --file can be given\n' });
  expect(await result('snapshot delete base --yes')).toEqual({ name: 'base' });
  expect(await result('snapshot list')).toEqual({ data: [] });
  expect(await daemon.stop()).toBe(0);
});

it('asks before a rotation destroys the keys of snapshots', { timeout: 60_000 }, async () => {
  expect(await result('keys rotate')).toMatchObject({ tenants: [{ key_id: 3 }] });
  await result('snapshot save one');
  await result('snapshot save two');
  const hint = 'hint: pass --yes to confirm. 2 snapshots can never be loaded again.';
  expect(await vault('keys rotate')).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(hint) });
  expect((await result('snapshot list')).data[0]).not.toHaveProperty('refused');
  const rotated = await vault('keys rotate --yes');
  expect(rotated).toMatchObject({ exitCode: 0, stderr: 'vault: 2 snapshots can never be loaded again\n' });
  expect(await vault('snapshot load one --yes')).toMatchObject({ exitCode: 6 });
  // These snapshots are already lost.
  expect(await vault('keys rotate')).toMatchObject({ exitCode: 0, stderr: '' });
  expect((await vault('keys rotate --help')).stdout).toMatch(/destroys\s+the\s+keys\s+of\s+existing\s+snapshots/);
});

it.each([
  ['cut in its first page', (bytes: Buffer) => bytes.subarray(0, 1000)],
  ['cut later', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ['no database at all', (bytes: Buffer) => bytes.fill('x')],
  [
    'with a text where bytes should be',
    (bytes: Buffer, vault: string) => {
      // The types of a row's values precede the values. The type of the MAC is last, and odd for a text.
      const at = bytes.indexOf(vault) - 1;
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      return bytes;
    },
  ],
])('a damaged snapshot is reported, and blocks no other command: %s', { timeout: 60_000 }, async (_what, damage) => {
  await result('snapshot save one');
  const file = path.join(cwd, 'vault.db.snapshots', 'one.db');
  const snapshot = new Database(file, { readonly: true });
  const vaultId = String(snapshot.prepare('SELECT vault_id FROM facts').pluck().get());
  snapshot.close();
  writeFileSync(file, damage(readFileSync(file), vaultId));
  expect(await result('snapshot list')).toMatchObject({ data: [{ name: 'one', refused: expect.any(String) }] });
  expect(await vault('snapshot load one --yes')).toMatchObject({
    exitCode: 9,
    stderr: expect.stringMatching(/^vault: .*one\.db is (damaged|not a snapshot of this format)\nhint: /),
  });
  expect(await result('keys rotate')).toMatchObject({ tenants: [{ key_id: 3 }] });
  expect(await vault('doctor')).toMatchObject({ exitCode: 0 });
});
