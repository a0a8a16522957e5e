import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { seededNumbers } from '../checks/perform.ts';
import { rotateUnderLoad } from '../checks/rotation-run.ts';
import { type Command, initVault, runInShared, startServe } from '../scripts/run-script.ts';
import { temporaryFolder } from '../temporary-folder.ts';

let cwd = '';
let management = '';
let tenant = '';
const inside = (name: string) => path.join(cwd, name);
const vault = (command: Command, env: Readonly<Record<string, string>> = {}, stdin = '') =>
  runInShared(command, { cwd, env: { VAULT_API_KEY: management, ...env }, stdin });
const result = async (command: Command, env: Readonly<Record<string, string>> = {}) => {
  const ran = await vault(command, env);
  expect(ran).toMatchObject({ exitCode: 0 });
  return JSON.parse(ran.stdout);
};

beforeEach(async () => {
  cwd = temporaryFolder(onTestFinished);
  ({ key: management, tenant } = await initVault(cwd, 'vault'));
});

describe('vault keys', () => {
  it('adds and removes key slots; a removed key exits with 10, and a daemon keeps running', {
    timeout: 60_000,
  }, async () => {
    const daemon = await startServe(cwd, ['--log', 'false']);
    const added = await result('keys add --new-key-file second.key');
    expect(added).toMatchObject({ slot: 1, kind: 'key_file', current: false });
    expect(readFileSync(inside('second.key'))).toHaveLength(32);
    if (process.platform !== 'win32') expect(statSync(inside('second.key')).mode & 0o777).toBe(0o600);
    writeFileSync(inside('pass'), 'correct horse battery\n', { mode: 0o600 });
    expect(await result('keys add --new-passphrase-file pass')).toMatchObject({ slot: 2, kind: 'passphrase' });
    const { data } = await result('keys list --passphrase-file pass');
    expect(data.map((slot: { slot: number; current: boolean }) => [slot.slot, slot.current])).toEqual([
      [0, false],
      [1, false],
      [2, true],
    ]);

    const unconfirmed = await vault('keys remove --slot 0');
    expect(unconfirmed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') });
    const withSecond = { VAULT_KEY_FILE: 'second.key' };
    expect(await result('keys remove --slot 0 --yes', withSecond)).toMatchObject({ slot: 0 });
    expect(await vault('keys list')).toMatchObject({ exitCode: 10, stdout: '' });
    expect(await vault('tenant get')).toMatchObject({ exitCode: 10 });
    const remote = { VAULT_URL: String(daemon.ready['url']) };
    expect(await vault('tenant get -q', remote)).toMatchObject({ exitCode: 0, stdout: `${tenant}\n` });
    expect(await vault('keys remove --slot 7 --yes', withSecond)).toMatchObject({ exitCode: 3 });
    await result('keys remove --slot 2 --yes', withSecond);
    const last = await vault('keys remove --slot 1 --yes', withSecond);
    expect(last).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('last key slot') });
    expect(await daemon.stop()).toBe(0);
  });

  it.each([
    ['a weak passphrase', ['add', '--new-passphrase-file', '-'], 'short', 2],
    ['two at once', ['add', '--new-key-file', 'k', '--new-passphrase-file', '-'], 'correct horse battery', 2],
    ['no new key', ['add'], '', 2],
    ['no slot', ['remove', '--yes'], '', 2],
    ['an unknown tenant', ['rotate', '--tenant', '00000000-0000-4000-8000-000000000000'], '', 3],
    ['an unknown name of a tenant', ['rotate', '--tenant', 'x'], '', 3],
  ])('rejects %s and changes nothing', async (_what, words, stdin, exitCode) => {
    expect(await vault(['keys', ...words], {}, stdin)).toMatchObject({ exitCode, stdout: '' });
    expect((await result('keys list')).data).toHaveLength(1);
    expect(existsSync(inside('k'))).toBe(false);
  });

  it('replaces the master key under a running daemon: API keys, tokens and the daemon keep working', {
    timeout: 60_000,
  }, async () => {
    const daemon = await startServe(cwd, ['--log', 'false']);
    const remote = { VAULT_URL: String(daemon.ready['url']) };
    await result('keys add --new-key-file second.key');
    const unconfirmed = await vault('keys rotate --master');
    expect(unconfirmed).toMatchObject({ exitCode: 2, stdout: '' });
    expect(unconfirmed.stderr).toContain('1 other key file or passphrase will no longer open this vault');
    const rotated = await result('keys rotate --master --yes');
    expect(rotated).toMatchObject({ generation: 2, removed_slots: [1], tenants: [{ tenant_id: tenant, key_id: 3 }] });
    expect(await vault('tenant get -q', remote)).toMatchObject({ stdout: `${tenant}\n` });
    expect(await result('apps create --name a --type management --permission tenant:read', remote));
    expect(await vault('tenant get -q')).toMatchObject({ stdout: `${tenant}\n` });
    expect(await vault('keys list --key-file second.key')).toMatchObject({ exitCode: 10 });
    expect(await result('keys list --tenants')).toMatchObject({ generation: 2, slots: 1, tenants: [{ stale: 0 }] });
    expect(await result('doctor')).toMatchObject({ ok: true });
    expect(await daemon.stop()).toBe(0);
  });

  it('gives no slot to a key of 32 equal bytes; doctor reports one that zeros open, and how to leave it', async () => {
    writeFileSync(inside('zeros'), Buffer.alloc(32), { mode: 0o600 });
    const zeros = { VAULT_KEY_FILE: 'zeros' };
    const added = await vault('keys add --new-key-file zeros');
    expect(added).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('cannot be 32 equal bytes') });
    expect(await vault('init --file new.db', zeros)).toMatchObject({ exitCode: 2 });
    expect((await result('keys list')).data).toHaveLength(1);
    const admin = await openVaultAdmin({
      file: inside('vault.db'),
      credential: { kind: 'key_file', key: readFileSync(inside('vault.db.key')) },
    });
    await admin.addSlot({ kind: 'key_file', key: new Uint8Array(32) }, { allowWeak: false });
    await admin.close();
    const notice = expect.stringContaining('key slot 1 opens with 32 zero bytes');
    expect(await result('doctor', zeros)).toMatchObject({ ok: true, notices: [notice] });
    const refused = await vault('keys rotate --master --yes', zeros);
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('vault keys add --new-key-file') });
    await result('keys add --new-key-file next.key', zeros);
    await result('keys rotate --master --yes --key-file next.key');
    expect(await vault('keys list', zeros)).toMatchObject({ exitCode: 10 });
    expect(await result('doctor --key-file next.key')).toMatchObject({ ok: true, notices: [] });
  });

  it('reports that fingerprints change', async () => {
    const words = ['keys', 'rotate', '--indexes', '--tenant', tenant.toUpperCase()];
    const unconfirmed = await vault(words);
    expect(unconfirmed).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining('hint: pass --yes to confirm. All fingerprints change'),
    });
    expect(await result('keys list --tenants')).toMatchObject({ generation: 1 });
    const ran = await vault([...words, '--yes']);
    expect(ran).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('fingerprints have changed') });
    expect((await vault('keys rotate --help')).stdout).toMatch(/stored\s+no\s+longer\s+match/);
  });
});

describe('a rotation under load', () => {
  it('may be killed at any time: no data is lost, no call fails, no old key remains', {
    timeout: 120_000,
  }, async () => {
    const run = await rotateUnderLoad({ tokens: 600, kills: 4, random: seededNumbers(18) });
    expect(run).toMatchObject({ refused: 0, lost: 0, doctorOk: true, keys: 2, oldKeysLeft: 0 });
    expect(run.killed).toBe(4);
    expect(run.acknowledged).toBeGreaterThan(600);
  });
});

describe('vault backup, restore and doctor', () => {
  it('copy a served vault, check it, and restore it', { timeout: 60_000 }, async () => {
    const daemon = await startServe(cwd, ['--log', 'false']);
    expect(await result('backup copy')).toEqual({
      file: 'copy',
      checked: { tenants: 1, applications: 1, tokens: 0, audit_entries: 3 },
    });
    expect(await vault('backup copy')).toMatchObject({ exitCode: 6, stdout: '' });
    expect(await vault('backup')).toMatchObject({ exitCode: 2, stdout: '' });
    expect(await vault('restore copy')).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('exists') });
    expect(await daemon.stop()).toBe(0);
    const keyFile = { VAULT_KEY_FILE: 'vault.db.key' };
    expect(await result('restore copy --file back.db', keyFile)).toMatchObject({ file: 'back.db' });
    expect(await vault('tenant get -q --file back.db', keyFile)).toMatchObject({ stdout: `${tenant}\n` });
  });

  it('exit with 9 and report the finding', { timeout: 60_000 }, async () => {
    const { default: Database } = await import('better-sqlite3');
    const connection = new Database(inside('vault.db'));
    connection.exec('UPDATE application SET type = 1');
    connection.close();
    const ran = await vault('doctor');
    expect(ran.exitCode).toBe(9);
    const report = JSON.parse(ran.stdout);
    expect(report).toMatchObject({ ok: false, checked: { applications: 1 }, findings: [{ table: 'application' }] });
    expect(await vault('backup copy')).toMatchObject({ exitCode: 9, stdout: '' });
    expect(existsSync(inside('copy'))).toBe(false);
  });

  it('name the given backup in errors, not its temporary copy', { timeout: 60_000 }, async () => {
    writeFileSync(inside('text'), 'no vault at all\n'.repeat(1000));
    const ran = await vault('restore text --file back.db --key-file vault.db.key');
    expect(ran.exitCode).not.toBe(0);
    expect(ran.stderr).toMatch(/\btext\b/);
    expect(ran.stderr).not.toContain('.new');
    expect(existsSync(inside('back.db'))).toBe(false);
  });

  it('reject an older copy of the vault with an anchor', { timeout: 60_000 }, async () => {
    const older = readFileSync(inside('vault.db'));
    const anchor = { VAULT_ANCHOR: 'anchor' };
    const rename = ['tenant', 'update', '--name', 'renamed', '-q'];
    expect(await vault(rename, anchor)).toMatchObject({ exitCode: 0 });
    writeFileSync(inside('vault.db'), older);
    for (const words of [['tenant', 'get'], ['doctor'], ['serve', '--port', '0']]) {
      expect(await vault([...words, '--anchor', 'anchor'])).toMatchObject({ exitCode: 9 });
    }
    expect(await vault('tenant get')).toMatchObject({ exitCode: 0 });
  });
});
