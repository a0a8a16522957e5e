import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { type Connection, loadDriver } from '../../src/store/sqlite/file/driver.ts';
import { placeFile } from '../../src/store/sqlite/file/place-file.ts';
import { fileFaultOf } from '../../src/store/sqlite/file/probe-disk.ts';
import { BusyError } from '../../src/store/sqlite/file/sqlite-error.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const { prototype } = (await loadDriver()) as { readonly prototype: Connection };
const { exec } = prototype;

afterEach(() => {
  prototype.exec = exec;
});

/** Lets SQLite report each lock as busy, as it does for ENOLCK. */
function takeLocksAway(): void {
  prototype.exec = () => {
    throw new BusyError('database is locked');
  };
}

it('names a file system without locks, and leaves no file', async () => {
  const folder = temporaryFolder(onTestFinished);
  const file = path.join(folder, 'v.db');
  takeLocksAway();
  expect(await fileFaultOf(file, new BusyError('database is locked'))).toMatchObject({
    code: 'file_unsafe',
    message: `the file system of ${file} grants no locks (ENOLCK)`,
  });
  const placed = placeFile(file, () => Promise.reject(new BusyError('database is locked')));
  await expect(placed).rejects.toMatchObject({ code: 'file_unsafe' });
  expect(readdirSync(folder)).toEqual([]);
});

it('control: with locks, the file is locked by another process', async () => {
  const folder = temporaryFolder(onTestFinished);
  const fault = await fileFaultOf(path.join(folder, 'v.db'), new BusyError('database is locked'));
  expect(fault).toMatchObject({ code: 'locked_by_other' });
  expect(readdirSync(folder)).toEqual([]);
});
