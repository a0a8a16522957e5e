import { describe, expect, it } from 'vitest';
import { checkFileSystem, fileSystemNotice } from '../../src/paths/file-system.ts';

const of = (type: number) => async () => ({ type });
const failing = () => Promise.reject(new Error('ENOENT'));

describe.runIf(process.platform === 'linux')('the file system of a vault', () => {
  it.each([
    ['NFS', 0x6969, 'NFS', true],
    ['SMB', 0x517b, 'SMB', true],
    ['CIFS', 0xff534d42, 'SMB', true],
    ['CIFS on a 32-bit system', 0xff534d42 | 0, 'SMB', true],
    ['SMB 2', 0xfe534d42, 'SMB', true],
    ['9p', 0x01021997, '9p', false],
    ['FUSE', 0x65735546, 'FUSE', false],
  ])('%s', async (_, type, name, isRefused) => {
    const notice = `v.db is on ${name}, whose locks may do nothing: keep it on a local disk`;
    expect(await fileSystemNotice('v.db', of(type))).toBe(notice);
    expect(await checkFileSystem('v.db', true, of(type))).toBe(notice);
    const checked = checkFileSystem('v.db', false, of(type));
    if (isRefused)
      await expect(checked).rejects.toMatchObject({ code: 'file_unsafe', message: expect.stringContaining(name) });
    else expect(await checked).toBe(notice);
  });

  it.each([
    ['ext4', of(0xef53)],
    ['tmpfs', of(0x01021994)],
    ['overlayfs', of(0x794c7630)],
    ['a folder that is missing', failing],
  ])('control: nothing about %s', async (_, statfs) => {
    expect(await checkFileSystem('v.db', false, statfs)).toBeUndefined();
  });

  it('asks for the folder, since the file may not exist', async () => {
    const asked: string[] = [];
    await fileSystemNotice('/data/v.db', async (folder) => {
      asked.push(folder);
      return { type: 0 };
    });
    expect(asked).toEqual(['/data']);
  });
});
