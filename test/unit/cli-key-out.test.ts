import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { reserveKeyFile, withKeyFile } from '../../src/cli/credential/key-out.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const KEY = `key_${'a'.repeat(32)}`;

it('reserves space for the key before it exists, and writes only the key', async () => {
  const folder = temporaryFolder(onTestFinished);
  const path = join(folder, 'api.key');
  const keyFile = await reserveKeyFile(path);
  const [reserved = '', ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  expect(reserved).not.toBe('api.key');
  const before = statSync(join(folder, reserved), { bigint: true });
  expect(before.size).toBeGreaterThan(KEY.length);
  expect(await keyFile.take(`{"id":"1","key":"${KEY}"}`)).toBe('{"id":"1"}');
  expect(readdirSync(folder)).toEqual(['api.key']);
  expect(readFileSync(path, 'utf8')).toBe(`${KEY}\n`);
  const after = statSync(path, { bigint: true });
  // The key is in the file that was reserved.
  expect(after.ino).toBe(before.ino);
  if (process.platform !== 'win32') expect(after.mode & 0o777n).toBe(0o600n);
});

it('keeps the key in a temporary file when another program creates the named file first', async () => {
  const folder = temporaryFolder(onTestFinished);
  const path = join(folder, 'api.key');
  const made = withKeyFile(path, async () => {
    writeFileSync(path, 'mine');
    return `{"key":"${KEY}"}`;
  });
  await expect(made).rejects.toMatchObject({ code: 'file_exists', message: expect.stringContaining('.tmp') });
  expect(readFileSync(path, 'utf8')).toBe('mine');
  const [temporary = ''] = readdirSync(folder).filter((name) => name !== 'api.key');
  expect(readFileSync(join(folder, temporary), 'utf8')).toBe(`${KEY}\n`);
});

it('removes the reserved file when no key is created', async () => {
  const folder = temporaryFolder(onTestFinished);
  const failing = withKeyFile(join(folder, 'api.key'), () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  expect(readdirSync(folder)).toEqual([]);
});
