import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isMountPoint, mountPointsIn } from '../../src/store/sqlite/file/mount-points.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A line of /proc/self/mountinfo with this mount point. */
const line = (mountPoint: string) =>
  `36 35 98:0 /v.db ${mountPoint} rw,noatime master:1 - ext4 /dev/root rw,errors=continue`;

it.each([
  ['a plain path', '/data/v.db', '/data/v.db'],
  ['a blank', String.raw`/my\040data/v.db`, '/my data/v.db'],
  ['a tab', String.raw`/a\011b/v.db`, '/a\tb/v.db'],
  ['a newline', String.raw`/a\012b/v.db`, '/a\nb/v.db'],
  ['a backslash', String.raw`/a\134b/v.db`, String.raw`/a\b/v.db`],
  ['a backslash before digits', String.raw`/a\134040/v.db`, String.raw`/a\040/v.db`],
  ['a hash', String.raw`/a\043b/v.db`, '/a#b/v.db'],
  ['two escapes', String.raw`/a\040\040b`, '/a  b'],
  ['a letter of two bytes', Buffer.from('/dä/v.db').toString('latin1'), '/dä/v.db'],
  ['escaped bytes of a letter', String.raw`/d\303\244/v.db`, '/dä/v.db'],
])('reads a mount point with %s', (_, escaped, mountPoint) => {
  expect([...mountPointsIn(`${line('/')}\n${line(escaped)}\n`)]).toEqual(['/', mountPoint]);
});

it('reads no mount point in an empty table and in a short line', () => {
  expect([...mountPointsIn('')]).toEqual([]);
  expect([...mountPointsIn('36 35 98:0 /\n')]).toEqual([]);
});

it('compares the real path of the file, and the file alone', () => {
  const folder = temporaryFolder(onTestFinished);
  const [real, named] = [path.join(folder, 'real'), path.join(folder, 'named')];
  mkdirSync(real);
  symlinkSync(real, named, 'junction');
  writeFileSync(path.join(real, 'v.db'), '');
  const table = line(path.join(real, 'v.db'));
  expect(isMountPoint(path.join(named, 'v.db'), table)).toBe(true);
  expect(isMountPoint(path.join(real, 'v.db'), line(real))).toBe(false);
});
