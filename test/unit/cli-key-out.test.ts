import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { withKeyFile } from '../../src/cli/credential/key-out.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const KEY = `key_${'a'.repeat(32)}`;

it('reserves space for the key before it exists, and writes only the key', async () => {
  const folder = temporaryFolder(onTestFinished);
  const path = join(folder, 'api.key');
  let before = statSync(folder, { bigint: true });
  const made = await withKeyFile(path, async () => {
    const [reserved = '', ...others] = readdirSync(folder);
    expect(others).toEqual([]);
    expect(reserved).not.toBe('api.key');
    before = statSync(join(folder, reserved), { bigint: true });
    return `{"id":"1","key":"${KEY}"}`;
  });
  expect(before.size).toBeGreaterThan(KEY.length);
  expect(made).toBe('{"id":"1"}');
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
