import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Fault } from '../../../core/fault.ts';
import { COMPANIONS } from '../../../paths/own-name.ts';
import { withConnection } from './connect.ts';
import { draftOf } from './file-names.ts';
import { isBusy } from './sqlite-error.ts';

/**
 * Resolves to the fault `file_unsafe` if the file system of `file` grants no locks; otherwise to `error`. SQLite
 * reports ENOLCK as a lock of another process. Therefore tries to lock a new file, which no other process can have
 * locked.
 */
export async function withoutLocks(file: string, error: unknown): Promise<unknown> {
  if (!isBusy(error) || (await grantsLocks(file))) return error;
  return new Fault('file_unsafe', `the file system of ${file} grants no locks (ENOLCK)`, {
    hint: 'keep the vault on a local disk, or start the lock service of the file system',
    cause: error,
  });
}

async function grantsLocks(file: string): Promise<boolean> {
  const probe = join(dirname(file), `${draftOf(file)}.locks.${randomBytes(8).toString('hex')}.new`);
  try {
    writeFileSync(probe, '', { flag: 'wx', mode: 0o600 });
    await withConnection(probe, (connection) => connection.exec('BEGIN EXCLUSIVE; ROLLBACK'));
    return true;
  } catch (error) {
    return !isBusy(error);
  } finally {
    for (const suffix of ['', ...COMPANIONS]) rmSync(probe + suffix, { force: true });
  }
}
