import { readFileSync, realpathSync } from 'node:fs';

/** The way out of a vault file that is a mount point. */
export const MOUNT_HINT = 'mount the folder of the vault, not the file: its log must be beside it for every process';

/** The position of the mount point in a line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
const MOUNT_POINT = 4;

/**
 * Returns the mount points in the text of /proc/self/mountinfo, which writes blanks, tabs, newlines and backslashes as
 * a backslash and three octal digits. The text is in latin1, so that a character is a byte.
 */
export function mountPointsIn(table: string): ReadonlySet<string> {
  const fields = table.split('\n').flatMap((line) => line.split(' ')[MOUNT_POINT] ?? []);
  const unescaped = fields.map((field) =>
    field.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8))),
  );
  return new Set(unescaped.map((field) => Buffer.from(field, 'latin1').toString('utf8')));
}

/** Reads the mounts of this process. Returns an empty text on systems other than Linux, and without /proc. */
function readMountTable(): string {
  try {
    return process.platform === 'linux' ? readFileSync('/proc/self/mountinfo', 'latin1') : '';
  } catch {
    return '';
  }
}

/**
 * Returns whether an existing file is itself a mount point, such as one from `docker run --volume ./v.db:/data/v.db`.
 * The file's numbers do not show it: they are those of the mounted file.
 */
export function isMountPoint(path: string, table: string = readMountTable()): boolean {
  return table !== '' && mountPointsIn(table).has(realpathSync(path));
}
