import fs, { chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { backUpVault } from '../../src/vault/admin.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { runMain as run } from './run-main.ts';
import { CREDENTIAL, fileVault } from './vault-admin-fixture.ts';

const KEY = new Uint8Array(32).fill(7);

/** Makes the system report every file in this folder as one on a read-only disk. */
function makeReadOnly(folder: string): void {
  const { accessSync } = fs;
  vi.spyOn(fs, 'accessSync').mockImplementation((name, mode) => {
    if (String(name).startsWith(folder) && mode !== fs.constants.R_OK) {
      throw Object.assign(new Error('read-only'), { code: 'EROFS' });
    }
    accessSync(name, mode);
  });
  syncBuiltinESMExports();
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  syncBuiltinESMExports();
});

it('verifies a backup on a read-only disk in the temporary folder, and names the backup', async () => {
  const { folder, file } = await fileVault(3);
  const disk = path.join(folder, 'disk');
  mkdirSync(disk);
  const [backup, damaged, text] = ['backup.db', 'damaged.db', 'text.db'].map((name) => path.join(disk, name));
  if (backup === undefined || damaged === undefined || text === undefined) throw new Error('unreachable');
  await backUpVault({ from: file, to: backup, credential: CREDENTIAL });
  const bytes = readFileSync(backup);
  writeFileSync(damaged, bytes.subarray(0, 8192), { mode: 0o600 });
  writeFileSync(text, 'text', { mode: 0o600 });
  const key = path.join(folder, 'key');
  writeFileSync(key, KEY, { mode: 0o600 });
  const before = readdirSync(disk);
  const temporary = temporaryFolder(onTestFinished);
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) vi.stubEnv(name, temporary);
  makeReadOnly(disk);

  const verify = (name: string) => run('backup', '--verify', name, '--key-file', key, '-o', 'json');
  const sound = await verify(backup);
  expect(sound).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(sound.stdout)).toMatchObject({ ok: true, checked: { tokens: 3 } });
  const found = await verify(damaged);
  expect(found).toMatchObject({ exitCode: 9, stderr: expect.stringContaining('make a new backup') });
  expect(found.stdout).toContain(JSON.stringify(`${damaged} is damaged`));
  const foreign = await verify(text);
  expect(foreign).toMatchObject({ exitCode: 9, stdout: '', stderr: expect.stringContaining(`${text} is not a vault`) });
  expect(readdirSync(disk)).toEqual(before);
  expect(readFileSync(backup).equals(bytes)).toBe(true);
  expect(readdirSync(temporary)).toEqual([]);
});

it('verifies and restores a backup with hard links, which it only reads', async () => {
  const { folder, file } = await fileVault(3);
  const [backup, link, made, key] = ['backup.db', 'link.db', 'made.db', 'key'].map((name) => path.join(folder, name));
  if (backup === undefined || link === undefined || made === undefined || key === undefined)
    throw new Error('unreachable');
  await backUpVault({ from: file, to: backup, credential: CREDENTIAL });
  writeFileSync(key, KEY, { mode: 0o600 });
  linkSync(backup, link);
  const bytes = readFileSync(backup);
  const before = readdirSync(folder);
  const words = ['--key-file', key, '-o', 'json'];
  expect(await run('backup', '--verify', backup, ...words)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readdirSync(folder)).toEqual(before);
  expect(readFileSync(link).equals(bytes)).toBe(true);
  expect(await run('restore', backup, '--file', made, ...words)).toMatchObject({ exitCode: 0 });
  // A vault that is opened for writing, and a backup that others can write, are refused.
  expect(await run('doctor', '--file', backup, ...words)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('is one of 2 names of the same file'),
  });
  if (process.platform === 'win32') return;
  chmodSync(backup, 0o666);
  expect(await run('backup', '--verify', backup, ...words)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('can be written by other users'),
  });
});
