import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { reserveKeyFile } from '../../src/cli/key-out.ts';

const KEY = `key_${'a'.repeat(32)}`;

it('a place for the key is on the disk before there is a key, and holds nothing else afterwards', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vault-key-out-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
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
  // The same file: what was reserved is what the key stands in.
  expect(after.ino).toBe(before.ino);
  if (process.platform !== 'win32') expect(after.mode & 0o777n).toBe(0o600n);
});
