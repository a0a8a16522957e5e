import fs, { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { writeWholeFile } from '../../src/cli/files/whole-file.ts';
import { placeFile } from '../../src/store/sqlite/file/place-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

let folder: string;

beforeEach(() => {
  folder = temporaryFolder(onTestFinished);
});

it('placeFile removes an incomplete file when the process exits', async () => {
  const others = process.listeners('exit');
  const build = async (building: string) => {
    writeFileSync(`${building}-wal`, 'log');
    expect(readdirSync(folder)).toHaveLength(2);
    // Another file of this process may already have added the one listener of `atExit`.
    for (const listener of process.listeners('exit').filter(({ name }) => name === 'runAll')) listener(143);
    expect(readdirSync(folder)).toEqual([]);
    throw new Error('the process is gone');
  };
  await expect(placeFile(path.join(folder, 'v.db'), build)).rejects.toThrow('the process is gone');
  expect(process.listeners('exit')).toEqual(others);
});

it('placeFile syncs the file before it gets its name, and then the folder', async () => {
  const [steps, { link }, fsync] = [[] as string[], files, fs.fsync];
  const sync = vi.spyOn(fs, 'fsync').mockImplementation((fd, done) => {
    steps.push(fs.fstatSync(fd).isDirectory() ? 'sync the folder' : 'sync the file');
    fsync(fd, done);
  });
  files.link = (...names) => {
    steps.push('name the file');
    return link(...names);
  };
  syncBuiltinESMExports();
  try {
    await placeFile(path.join(folder, 'v.db'), async (building) => writeFileSync(building, 'whole'));
  } finally {
    sync.mockRestore();
    files.link = link;
    syncBuiltinESMExports();
  }
  expect(steps).toEqual([
    'sync the file',
    'name the file',
    ...(process.platform === 'win32' ? [] : ['sync the folder']),
  ]);
});

it('placeFile keeps a complete file', async () => {
  const others = process.listeners('exit');
  await placeFile(path.join(folder, 'v.db'), async (building) => writeFileSync(building, 'whole'));
  expect(readdirSync(folder)).toEqual(['v.db']);
  expect(process.listeners('exit')).toEqual(others);
});

describe('on a file system without hard links', () => {
  const { link, rename } = files;
  const { renameSync } = fs;
  const refusing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
  const place = () => placeFile(path.join(folder, 'v.db'), async (building) => writeFileSync(building, 'whole'));

  beforeEach(() => {
    files.link = refusing('EPERM');
    syncBuiltinESMExports();
  });
  afterEach(() => {
    Object.assign(files, { link, rename });
    fs.renameSync = renameSync;
    syncBuiltinESMExports();
  });

  it('the file appears complete and never replaces another', async () => {
    await place();
    expect(readFileSync(path.join(folder, 'v.db'), 'utf8')).toBe('whole');
    const build = async (building: string) => {
      writeFileSync(building, 'late');
      writeFileSync(path.join(folder, 'w.db'), 'early');
    };
    await expect(placeFile(path.join(folder, 'w.db'), build)).rejects.toMatchObject({ code: 'file_exists' });
    expect(readFileSync(path.join(folder, 'w.db'), 'utf8')).toBe('early');
    expect(readdirSync(folder)).toEqual(['v.db', 'w.db']);
  });

  it('a file that cannot be renamed leaves nothing', async () => {
    files.rename = refusing('EIO');
    fs.renameSync = () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    };
    syncBuiltinESMExports();
    await expect(place()).rejects.toMatchObject({ code: 'file_unwritable' });
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe.runIf(process.platform !== 'win32')(
  'a target that cannot be renamed because it is a mount point (EBUSY)',
  () => {
    const { renameSync } = fs;
    const build = async (building: string) => writeFileSync(building, 'new');

    beforeEach(() => {
      fs.renameSync = () => {
        throw Object.assign(new Error('EBUSY'), { code: 'EBUSY' });
      };
      syncBuiltinESMExports();
    });
    afterEach(() => {
      fs.renameSync = renameSync;
      syncBuiltinESMExports();
    });

    it.each([
      ['compact and snapshot save --replace', (at: string) => placeFile(at, build, { replace: true })],
      ['restore --move-aside', (at: string) => placeFile(at, build, { moveAside: true })],
      ['a ready file', (at: string) => writeWholeFile('--ready-file', at, 'new', 'replace')],
    ])('is named by %s', async (_, place) => {
      const at = path.join(folder, 'v.db');
      writeFileSync(at, 'old');
      await expect(place(at)).rejects.toMatchObject({
        code: 'file_unsafe',
        message: expect.stringContaining(`${at} is a mount point`),
        hint: expect.stringContaining('mount the folder'),
      });
      expect(readdirSync(folder)).toEqual(['v.db']);
      expect(readFileSync(at, 'utf8')).toBe('old');
    });
  },
);
