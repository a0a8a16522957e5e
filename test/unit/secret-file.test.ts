import { chmodSync, chownSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { assertPrivate, readSecretFile, readSmallFile } from '../../src/cli/files/secret-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const USER = 1000;
const [GROUP, FOREIGN_GROUP] = [2000, 3000];
const OTHERS = 'is open to other users';
const FOREIGN = 'belongs to another user';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

function refusal(owner: number | readonly [uid: number, gid: number], mode: number, isFile = true): string | undefined {
  const [uid, gid] = typeof owner === 'number' ? [owner, FOREIGN_GROUP] : owner;
  try {
    assertPrivate('FILE', { uid, gid, mode, isFile: () => isFile });
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'file_unsafe', hint: expect.stringContaining('chmod 600') });
    return (error as Error).message.replace('FILE ', '');
  }
}

describe.runIf(process.platform !== 'win32')('a file with a secret', () => {
  it.each<readonly [string, number | readonly [number, number], number, string | undefined]>([
    ['this user’s, closed', USER, 0o100600, undefined],
    ['this user’s, only readable', USER, 0o100400, undefined],
    ['root’s, closed', 0, 0o100600, undefined],
    ['readable by the group', USER, 0o100640, OTHERS],
    ['writable by the group', USER, 0o100620, OTHERS],
    ['readable by others', USER, 0o100604, OTHERS],
    ['executable by others', USER, 0o100601, OTHERS],
    ['root’s, readable by others', 0, 0o100644, OTHERS],
    ['root’s, readable by a group of this process', [0, GROUP], 0o100440, undefined],
    ['root’s, writable by root and readable by a group of this process', [0, GROUP], 0o100640, undefined],
    ['root’s, readable by another group', [0, FOREIGN_GROUP], 0o100440, OTHERS],
    ['root’s, writable by a group of this process', [0, GROUP], 0o100460, OTHERS],
    ['root’s, readable by a group of this process and by others', [0, GROUP], 0o100444, OTHERS],
    ['this user’s, readable by a group of this process', [USER, GROUP], 0o100440, OTHERS],
    ['another user’s, readable by a group of this process', [USER + 1, GROUP], 0o100440, FOREIGN],
    ['another user’s, closed', USER + 1, 0o100600, FOREIGN],
    ['another user’s, readable by others', USER + 1, 0o100644, FOREIGN],
  ])('%s', (_what, owner, mode, expected) => {
    vi.spyOn(process as { getuid: () => number }, 'getuid').mockReturnValue(USER);
    vi.spyOn(process as { getgroups: () => number[] }, 'getgroups').mockReturnValue([USER, GROUP]);
    expect(refusal(owner, mode)).toBe(expected);
    // A pipe or a device stores nothing, so its mode does not matter.
    expect(refusal(owner, mode, false)).toBe(undefined);
    vi.stubEnv('VAULT_ALLOW_INSECURE_PERMISSIONS', '1');
    expect(refusal(owner, mode)).toBe(undefined);
  });

  it('is read when only its owner may read it, also through a link; a certificate may be readable by others', async () => {
    const folder = temporaryFolder(onTestFinished);
    const [file, link] = [path.join(folder, 'file'), path.join(folder, 'link')];
    writeFileSync(file, 'secret', { mode: 0o600 });
    symlinkSync(file, link);
    const read = async (name: string) => (await readSecretFile('--key-file', name)).toString();
    expect([await read(file), await read(link)]).toEqual(['secret', 'secret']);
    chmodSync(file, 0o644);
    for (const name of [file, link]) await expect(read(name)).rejects.toMatchObject({ message: `${name} ${OTHERS}` });
    expect((await readSmallFile('--tls-cert', file)).toString()).toBe('secret');
  });

  it.runIf(process.getuid?.() === 0)('of another user is rejected even for root', async () => {
    const file = path.join(temporaryFolder(onTestFinished), 'file');
    writeFileSync(file, 'secret', { mode: 0o600 });
    chownSync(file, USER, USER);
    await expect(readSecretFile('--key-file', file)).rejects.toMatchObject({ message: `${file} ${FOREIGN}` });
  });
});
