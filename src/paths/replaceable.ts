import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs';
import { Fault } from '../core/fault.ts';
import { assertOwnName } from './own-name.ts';

const NO_FOLLOW = (constants.O_NOFOLLOW as number | undefined) ?? 0;
const NO_WAIT = (constants.O_NONBLOCK as number | undefined) ?? 0;

/** The maximum bytes to read of a file that the product wrote: a ready file, an anchor, a journal. */
const MAX_BYTES = 1024 * 1024;

const KINDS = [
  ['isSymbolicLink', 'a symbolic link'],
  ['isDirectory', 'a directory'],
  ['isFIFO', 'a named pipe'],
  ['isSocket', 'a socket'],
  ['isCharacterDevice', 'a device'],
  ['isBlockDevice', 'a device'],
] as const satisfies readonly (readonly [keyof Stats, string])[];

/**
 * Throws the fault `file_unsafe` unless the last component of `path` is missing or a regular file, and for a name that
 * `assertOwnName` refuses. Returns the `stat` of the file. Follows no link. Every path that the product replaces passes
 * this check, because a rename destroys a device, a named pipe or a link. `flag` begins the message. Opens nothing:
 * opening a device can have effects, and closing a vault that this process has open drops SQLite's locks.
 */
export function assertReplaceable(path: string, flag?: string): Stats | undefined {
  assertOwnName(path, flag);
  const found = lookAt(path);
  if (found !== undefined) requireFile(found, path, flag);
  return found;
}

/** Returns the `stat` of a path; undefined for a missing one, and for a folder that the next step cannot use either. */
function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function requireFile(found: Stats, path: string, flag: string | undefined): void {
  if (found.isFile()) return;
  const [, kind] = KINDS.find(([is]) => found[is]()) ?? [undefined, 'no regular file'];
  throw new Fault('file_unsafe', `${flag === undefined ? '' : `${flag}: `}${path} is ${kind}`, {
    hint: 'name a regular file, or a new one',
  });
}

/**
 * Returns the contents of a file that the product will replace, at most 1 MiB; undefined for a missing file. Checks the
 * opened file, so that a device or pipe that takes its name meanwhile is neither read nor waited for. `check` may
 * refuse the opened file. Throws as `assertReplaceable` does, and errors of the system.
 */
export function readReplaceable(path: string, flag?: string, check?: (opened: Stats) => void): Buffer | undefined {
  if (assertReplaceable(path, flag) === undefined) return undefined;
  const file = openSync(path, constants.O_RDONLY | NO_FOLLOW | NO_WAIT);
  try {
    const opened = fstatSync(file);
    requireFile(opened, path, flag);
    check?.(opened);
    const bytes = Buffer.alloc(Math.min(opened.size, MAX_BYTES));
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}
