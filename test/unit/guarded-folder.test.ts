import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { guardedFolder } from '../../src/paths/guarded-folder.ts';
import { putInPlace } from '../../src/paths/put-in-place.ts';
import { placeFile, removeDrafts } from '../../src/store/sqlite/file/place-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

vi.mock('../../src/paths/put-in-place.ts', { spy: true });

/** A number without a name in /etc/passwd. */
const OWNER = 61_500;

/** Creates a folder of root with a folder of another user, and one of root below it. */
function folders() {
  const root = temporaryFolder();
  const [user, below] = [join(root, 'user'), join(root, 'user', 'below')];
  mkdirSync(below, { recursive: true, mode: 0o700 });
  chownSync(user, OWNER, OWNER);
  return { root, user, below };
}

const write = (draft: string) => Promise.resolve(writeFileSync(draft, 'new'));

describe.runIf(process.getuid?.() === 0)('the drafts of root', () => {
  it('are in the deepest folder in which only root can replace names', () => {
    const { root, user, below } = folders();
    for (const folder of [user, below]) expect(guardedFolder(folder)).toBe(root);
    expect(guardedFolder(root)).toBe(root);
    const link = join(root, 'link');
    symlinkSync(below, link);
    expect(guardedFolder(link)).toBe(root);
    chmodSync(root, 0o1777);
    expect(guardedFolder(user)).toBe(root);
    for (const mode of [0o777, 0o770, 0o702]) {
      chmodSync(root, mode);
      expect(guardedFolder(user), mode.toString(8)).toBe(dirname(root));
    }
    expect(guardedFolder(join(root, 'missing'))).toBe(join(root, 'missing'));
  });

  it('of other users are beside the file', () => {
    const { below } = folders();
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(process as { getuid: () => number }, 'getuid').mockReturnValue(OWNER);
    expect(guardedFolder(below)).toBe(below);
  });

  it.each([undefined, 'EXDEV'])('cannot be reached by the owner of the folder (%s)', async (code) => {
    const { root, user } = folders();
    const target = join(user, 'vault.db');
    let draft = '';
    if (code !== undefined) vi.mocked(putInPlace).mockRejectedValueOnce(Object.assign(new Error(code), { code }));
    const build = async (building: string) => {
      draft = building;
      expect(statSync(dirname(building))).toMatchObject({ uid: 0, mode: 0o40700 });
      expect(dirname(dirname(building))).toBe(root);
      await write(building);
    };
    await placeFile(target, build, { owner: { uid: BigInt(OWNER), gid: BigInt(OWNER) }, mode: 0o640 });
    expect(readFileSync(target, 'utf8')).toBe('new');
    expect(statSync(target)).toMatchObject({ uid: OWNER, gid: OWNER, mode: 0o100640 });
    expect(existsSync(dirname(draft))).toBe(false);
    expect([readdirSync(root), readdirSync(user)]).toEqual([['user'], ['below', 'vault.db']]);
  });

  it('of killed commands are removed, and nothing of others', async () => {
    const { root, user } = folders();
    const names = ['0', '1'].map((digit) => `.vault.db.compact.${digit.repeat(16)}.new`);
    for (const name of names) {
      mkdirSync(join(root, name), { mode: 0o700 });
      for (const part of [name, `${name}-journal`]) writeFileSync(join(root, name, part), '');
    }
    writeFileSync(join(root, names[1] ?? '', 'other'), '');
    // The time of a file has parts of a millisecond, and `Date.now` has none.
    await removeDrafts(user, { label: 'compact', target: join(user, 'vault.db'), minAgeMs: -1 });
    expect(readdirSync(root).sort()).toEqual([names[1], 'user']);
    expect(readdirSync(join(root, basename(names[1] ?? '')))).toEqual(['other']);
  });
});
