import { existsSync, lstatSync, renameSync } from 'node:fs';
import { MachineDate, wallTime } from '../../../core/timers.ts';
import { COMPANIONS } from '../../../paths/own-name.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { lockWhole } from './assert-one-name.ts';
import { checkOpenable } from './check-openable.ts';
import { type Connection, loadDriver } from './driver.ts';
import { IN_USE_MS, inUse } from './in-use.ts';
import { isBusy } from './sqlite-error.ts';

/**
 * Renames the file `target`, if it exists, together with its log, which may contain writes that the file lacks. Changes
 * the bytes of neither. Throws `locked_by_other` while a process has the file open.
 */
export async function moveFilesAside(target: string): Promise<void> {
  const aside = `${target}.aside-${new MachineDate(wallTime()).toISOString().replace(/[-:.]/g, '')}`;
  const lock = await lockUnused(target);
  try {
    for (const suffix of ['', ...COMPANIONS]) {
      if (lstatSync(target + suffix, { throwIfNoEntry: false }) !== undefined)
        renameSync(target + suffix, aside + suffix);
    }
  } catch (error) {
    inUse(target)(error);
  } finally {
    // SQLite writes the log into the file only if the file still has the name by which it was opened.
    lock?.close();
  }
}

/** Locks a file against other processes until the connection closes. Resolves to undefined for one that cannot be. */
async function lockUnused(target: string): Promise<Connection | undefined> {
  // Windows refuses to rename an open file, and also one that is open here.
  if (process.platform === 'win32' || !isSafeToOpen(target)) return undefined;
  const driver = await loadDriver();
  return retryBusy(() => lockWhole(driver, target), IN_USE_MS).catch((error: unknown) => {
    // The file may be damaged, or no vault.
    return isBusy(error) ? inUse(target)(error) : undefined;
  });
}

/** Returns whether SQLite, which may run as root, changes nothing when it opens the file: it applies a journal. */
function isSafeToOpen(target: string): boolean {
  if (existsSync(`${target}-journal`)) return false;
  try {
    checkOpenable(target, { isOpenHere: true });
    return true;
  } catch {
    return false;
  }
}
