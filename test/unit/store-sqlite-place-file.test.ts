import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { placeFile } from '../../src/store/sqlite/place-file.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'vault-place-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('leaves nothing of a file that is not whole when the process exits', async () => {
  const others = process.listeners('exit');
  const build = async (building: string) => {
    writeFileSync(`${building}-wal`, 'log');
    expect(readdirSync(folder)).toHaveLength(2);
    for (const listener of process.listeners('exit').filter((one) => !others.includes(one))) listener(143);
    expect(readdirSync(folder)).toEqual([]);
    throw new Error('the process is gone');
  };
  await expect(placeFile(path.join(folder, 'v.db'), build)).rejects.toThrow('the process is gone');
  expect(process.listeners('exit')).toEqual(others);
});

it('leaves the file that is whole', async () => {
  const others = process.listeners('exit');
  await placeFile(path.join(folder, 'v.db'), async (building) => writeFileSync(building, 'whole'));
  expect(readdirSync(folder)).toEqual(['v.db']);
  expect(process.listeners('exit')).toEqual(others);
});
