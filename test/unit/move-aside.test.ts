import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { placeFile } from '../../src/store/sqlite/file/place-file.ts';
import { hurriedTime } from '../fakeable-timers.ts';
import { temporaryFolder } from '../temporary-folder.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = temporaryFolder(onTestFinished);
  file = path.join(folder, 'v.db');
});

const restore = () => placeFile(file, async (building) => writeFileSync(building, 'new'), { moveAside: true });
const bytesOf = (names: readonly string[]) => names.map((name) => readFileSync(path.join(folder, name)));
const present = () => readdirSync(folder).filter((name) => !name.endsWith('-shm'));

/** Opens a file with rows in its log. */
function openWithLog(at = file): Database.Database {
  const database = new Database(at);
  onTestFinished(() => void database.close());
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE one (id); INSERT INTO one VALUES (1)');
  return database;
}

/** Makes the file of a killed process, and its log or its journal. */
function leave(end: '-wal' | '-journal'): void {
  mkdirSync(path.join(folder, 'away'));
  const away = path.join(folder, 'away/v.db');
  const database = openWithLog(away);
  if (end === '-journal') database.exec(`PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; ${ROWS}`);
  for (const suffix of ['', end]) copyFileSync(away + suffix, file + suffix);
}

/** More rows than the cache holds, so SQLite writes to the file before the commit. */
const ROWS = 'INSERT INTO one SELECT randomblob(900) FROM (VALUES (1), (2), (3), (4)) a, (VALUES (1), (2), (3), (4)) b';

describe.runIf(process.platform !== 'win32')('placeFile with moveAside', { timeout: 20_000 }, () => {
  it.each([
    ['with a log', () => openWithLog()],
    ['without a log', () => openWithLog().exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')],
    ['without a head', () => openWithLog() && writeFileSync(file, '-'.repeat(100), { flag: 'r+' })],
  ])('refuses a file in use %s, and changes nothing', async (_, open) => {
    open();
    hurriedTime();
    const names = present();
    const bytes = bytesOf(names);
    await expect(restore()).rejects.toMatchObject({
      code: 'locked_by_other',
      message: `${file} is in use by another process`,
      hint: expect.stringContaining('stop the daemon'),
    });
    expect(present()).toEqual(names);
    expect(bytesOf(names)).toEqual(bytes);
  });

  it.each<[string, '-wal' | '-journal', () => void]>([
    ['with the log of a killed process', '-wal', () => undefined],
    ['without bytes, with a log', '-wal', () => truncateSync(file, 0)],
    ['with a journal', '-journal', () => undefined],
    ['which others may write', '-wal', () => chmodSync(file, 0o666)],
    ['of another program', '-wal', () => writeFileSync(file, 'text'.repeat(4096))],
  ])('keeps the bytes of a file %s', async (_, end, make) => {
    leave(end);
    make();
    const names = present().filter((name) => name !== 'away');
    const bytes = bytesOf(names);
    await restore();
    const aside = present().filter((name) => name.includes('.aside-'));
    expect(aside.map((name) => name.replace(/\.aside-\w+/, ''))).toEqual(names);
    expect(bytesOf(aside)).toEqual(bytes);
    expect(readFileSync(file, 'utf8')).toBe('new');
  });
});
