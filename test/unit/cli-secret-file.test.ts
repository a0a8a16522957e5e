import fs, { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { reserveFile, writeWholeFile } from '../../src/cli/files/whole-file.ts';
import { putInPlace } from '../../src/paths/put-in-place.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const { link } = files;
const { renameSync } = fs;
let folder: string;
const inside = (name: string) => path.join(folder, name);

function setLink(made: typeof link): void {
  files.link = made;
  syncBuiltinESMExports();
}

beforeEach(() => {
  folder = temporaryFolder(onTestFinished);
});
afterEach(() => {
  fs.renameSync = renameSync;
  setLink(link);
});

async function* pieces() {
  yield 'one\n';
  yield 'two\n';
}

describe.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])('on a file system that rejects links with %s', (code) => {
  beforeEach(() => setLink(() => Promise.reject(Object.assign(new Error(code), { code }))));

  it('new files appear complete, with mode 0600, and leave no other file', async () => {
    await writeWholeFile('--out', inside('export'), pieces());
    await reserveFile('--key-out', inside('key'), 100, (fill) => fill('key_1\n'));
    expect(readFileSync(inside('export'), 'utf8')).toBe('one\ntwo\n');
    expect(readFileSync(inside('key'), 'utf8')).toBe('key_1\n');
    if (process.platform !== 'win32') expect(statSync(inside('key')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual(['export', 'key']);
  });

  it('a file that appears meanwhile is never replaced', async () => {
    writeFileSync(inside('new'), 'new');
    writeFileSync(inside('there'), 'there');
    await expect(putInPlace(inside('new'), inside('there'), 'new')).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(inside('there'), 'utf8')).toBe('there');
  });

  it('a file that cannot be renamed leaves nothing at its destination', async () => {
    fs.renameSync = () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    };
    syncBuiltinESMExports();
    writeFileSync(inside('new'), 'new');
    await expect(putInPlace(inside('new'), inside('place'), 'new')).rejects.toMatchObject({ code: 'EIO' });
    expect(readdirSync(folder)).toEqual(['new']);
  });
});
