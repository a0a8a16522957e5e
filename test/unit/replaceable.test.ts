import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openLogFile } from '../../src/cli/commands/serve/log-file.ts';
import { writeReadyFile } from '../../src/cli/commands/serve/ready-file.ts';
import { openJournal } from '../../src/cli/commands/transfer/import-journal.ts';
import { openErrorFile } from '../../src/cli/commands/transfer/report-import.ts';
import { reserveFile, writeWholeFile } from '../../src/cli/files/whole-file.ts';
import { putInPlace } from '../../src/paths/put-in-place.ts';
import { assertReplaceable, readReplaceable } from '../../src/paths/replaceable.ts';
import { placeFile } from '../../src/store/sqlite/file/place-file.ts';
import { readAnchorFile, writeAnchorFile } from '../../src/vault/anchor-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const POSIX = process.platform !== 'win32';
const folder = temporaryFolder();
const inside = (name: string) => path.join(folder, name);

/** What stands at the path, and how it is made. */
const THINGS: readonly (readonly [name: string, kind: string, make: (at: string) => unknown])[] = [
  ['a named pipe', 'a named pipe', (at) => execFileSync('mkfifo', [at])],
  ['a socket', 'a socket', listening],
  ['a directory', 'a directory', (at) => mkdirSync(at)],
  ['a link to a file', 'a symbolic link', (at) => symlinkSync(inside('file'), at)],
  ['a link to nothing', 'a symbolic link', (at) => symlinkSync(inside('nothing'), at)],
  ['a link to a device', 'a symbolic link', (at) => symlinkSync('/dev/null', at)],
  ...(process.getuid?.() === 0 ? [['a device', 'a device', makeDevice] as const] : []),
];

function makeDevice(at: string): void {
  execFileSync('mknod', [at, 'c', '1', '3']);
}

function listening(at: string): Promise<unknown> {
  const server = createServer();
  afterAll(() => server.close());
  return new Promise((resolve) => server.listen(at, () => resolve(undefined)));
}

const READY = { url: 'http://127.0.0.1:1', pid: process.pid, version: '0' };

/** The writers that replace a file. */
const WRITERS: readonly (readonly [name: string, write: (at: string) => Promise<unknown>])[] = [
  ['writeWholeFile', (at) => writeWholeFile('--out', at, 'text', 'replace')],
  ['writeReadyFile', (at) => writeReadyFile(at, READY)],
  ['openJournal', (at) => openJournal(at)],
  ['the anchor, reading', async (at) => readAnchorFile(at)],
  ['the anchor, writing', (at) => writeAnchorFile(at, 'text')],
  ['placeFile to replace', (at) => placeFile(at, async () => undefined, { replace: true })],
  ['placeFile to move aside', (at) => placeFile(at, async () => undefined, { moveAside: true })],
  [
    'putInPlace',
    async (at) => {
      writeFileSync(inside('draft'), '');
      await putInPlace(inside('draft'), at, 'replace');
    },
  ],
];

describe.runIf(POSIX).each(THINGS)('%s', (name, kind, make) => {
  const at = inside(name.replaceAll(' ', '-'));

  it('exists', async () => {
    writeFileSync(inside('file'), 'of the user');
    await make(at);
  });

  it.each(WRITERS)('stays: %s', async (_, write) => {
    const before = lstatSync(at);
    const names = readdirSync(folder).filter((one) => one !== 'draft');
    await expect(write(at)).rejects.toMatchObject({ code: 'file_unsafe', message: expect.stringContaining(kind) });
    const { ino, mode } = lstatSync(at);
    expect({ ino, mode }).toEqual({ ino: before.ino, mode: before.mode });
    expect(readdirSync(folder).filter((one) => one !== 'draft')).toEqual(names);
    expect(readFileSync(inside('file'), 'utf8')).toBe('of the user');
  });
});

it.each(WRITERS.filter(([name]) => name.includes('Whole') || name.includes('Ready')))(
  'control: %s replaces a regular file',
  async (_, write) => {
    const at = inside('regular');
    writeFileSync(at, '');
    await write(at);
    expect(lstatSync(at).isFile()).toBe(true);
    expect(readFileSync(at, 'utf8')).not.toBe('');
  },
);

/** The writers of new files. */
const NEW: typeof WRITERS = [
  ['writeWholeFile, a new file', (at) => writeWholeFile('--out', at, 'text')],
  ['reserveFile', (at) => reserveFile('--key-out', at, 8, async () => undefined)],
  ['placeFile', (at) => placeFile(at, async () => undefined)],
  ['the rows of an import', (at) => openErrorFile(at)],
  ['the log', async (at) => openLogFile(at, () => undefined)],
];

/** SQLite reads, replaces or removes these files whenever it opens the vault beside them. */
describe.each(['-wal', '-shm', '-journal', '-WAL'])('a path that ends with %s', (end) => {
  const writers = [...WRITERS, ...NEW].filter(([name]) => name !== 'putInPlace');

  it.each(writers)('is refused beside a file of the same name: %s', async (_, write) => {
    const vault = inside(`beside${end === end.toUpperCase() ? '-upper' : ''}`);
    writeFileSync(vault, 'a vault');
    const refusal = { code: 'file_unsafe', message: expect.stringContaining(`${vault}${end}`) };
    await expect(write(`${vault}${end}`)).rejects.toMatchObject(refusal);
    expect(readdirSync(folder).filter((name) => name.startsWith(`${path.basename(vault)}-w`))).toEqual([]);
  });

  it('control: is accepted alone', async () => {
    await writeWholeFile('--out', inside(`alone${end}`), 'text');
    expect(readFileSync(inside(`alone${end}`), 'utf8')).toBe('text');
  });
});

it('accepts a missing and a regular file, and reads at most a mebibyte', () => {
  expect(assertReplaceable(inside('missing'))).toBeUndefined();
  expect(readReplaceable(inside('missing'))).toBeUndefined();
  expect(assertReplaceable(inside('missing/in/a/folder'))).toBeUndefined();
  writeFileSync(inside('large'), Buffer.alloc(2 ** 20 + 5, 'x'));
  expect(assertReplaceable(inside('large'))?.size).toBe(2 ** 20 + 5);
  expect(readReplaceable(inside('large'))).toHaveLength(2 ** 20);
});
