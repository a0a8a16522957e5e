import { type BigIntStats, existsSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Fault } from '../../../core/fault.ts';
import { COMPANIONS } from '../../../paths/own-name.ts';
import { isLeftoverOf } from './file-names.ts';
import { isMountPoint, MOUNT_HINT } from './mount-points.ts';

/**
 * Throws `file_unsafe` if a file that is opened for writing has a second path. SQLite names the log and the shared
 * memory by the path, so two processes on two paths share no lock and overwrite each other's pages. First removes the
 * second name that a killed `vault init`, `restore` or `move` left in the folder between its link and its unlink.
 */
export function assertOnePath(path: string, found: BigIntStats, isMounted = isMountPoint): void {
  if (isMounted(path)) throw new Fault('file_unsafe', `${path} is a mount point`, { hint: MOUNT_HINT });
  if (found.nlink <= 1n) return;
  removeLeftovers(path, found);
  const links = lstatSync(path, { bigint: true, throwIfNoEntry: false })?.nlink ?? 1n;
  if (links <= 1n) return;
  throw new Fault('file_unsafe', `${path} is one of ${links} names of the same file (hard links)`, {
    hint: `remove the other names; \`find / -samefile '${path}'\` prints them`,
  });
}

/** Removes the other names of the file that only a killed command can have left: drafts that no process has open. */
function removeLeftovers(path: string, { dev, ino }: BigIntStats): void {
  const folder = dirname(path);
  for (const name of readdirSync(folder)) {
    if (!isLeftoverOf(path, name)) continue;
    const other = join(folder, name);
    const found = lstatSync(other, { bigint: true, throwIfNoEntry: false });
    if (found?.dev !== dev || found.ino !== ino) continue;
    if (COMPANIONS.some((suffix) => existsSync(other + suffix))) continue;
    try {
      rmSync(other, { force: true });
    } catch {
      // The caller reports the name that is left.
    }
  }
}
