import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { FAULTS } from '../../../contract/faults.ts';
import { errorCode, Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import { runningTime } from '../../../core/timers.ts';
import { COMPANIONS } from '../../../paths/own-name.ts';
import { assertOnePath } from './assert-one-path.ts';
import { APPLICATION_ID } from './schema.ts';
import { onReadOnlyDisk } from './sqlite-error.ts';

/** The permission bits that let other users write the file. Others may read it, since its contents are sealed. */
const WRITTEN_BY_OTHERS = 0o022n;

/** The header of a database file (SQLite's "Database File Format", §1.3) and the offset of `application_id` in it. */
const HEAD_BYTES = 100;
const APPLICATION_ID_AT = 68;

interface FileUse {
  /** Whether this process has the file open. If so, no byte of it is read. */
  readonly isOpenHere?: boolean;
  /** Whether the file is only read, such as a backup. If so, it may have other names and be a mount point. */
  readonly isOnlyRead?: boolean;
}

/**
 * Checks that `path` may be opened as a vault, and returns its `stat`. It must be a regular file in a writable folder,
 * belong to this user or root, unless this user is root, not be writable by other users, and have no second path.
 * Throws `file_missing`, `file_unsafe`, `file_unwritable`, and `not_a_vault` for an empty file or an unsafe file that
 * is not a vault.
 */
export function checkOpenable(path: string, { isOpenHere = false, isOnlyRead = false }: FileUse = {}): BigIntStats {
  const found = look(path);
  if (found === undefined) throw new Fault('file_missing', `there is no vault at ${path}`);
  if (found.isFile() && found.size === 0n) throw new Fault('not_a_vault', `${path} is empty`);
  try {
    assertSafe(path, found);
  } catch (error) {
    if (!isOpenHere && found.isFile() && isForeign(path)) throw new Fault('not_a_vault', `${path} is not a vault`);
    throw error;
  }
  for (const companion of COMPANIONS) {
    const beside = look(path + companion);
    if (beside !== undefined) assertBeside(path + companion, beside, found);
  }
  requireAccess(path, constants.R_OK | constants.W_OK, (cause) => {
    if (errorCode(cause) === 'EROFS') return onReadOnlyDisk(path, cause);
    return new Fault('file_unwritable', `${path} cannot be written`, {
      hint: hintFor(found) ?? FAULTS.file_unsafe.hint,
      cause,
    });
  });
  requireAccess(dirname(path), constants.W_OK | constants.X_OK, (cause) => {
    return new Fault('file_unwritable', `the folder of ${path} cannot be written`, { cause });
  });
  if (!isOnlyRead) assertOnePath(path, found);
  return found;
}

/**
 * Checks `path` as `checkFile` does, and throws `not_a_vault` for the file of another program. Call it before
 * requesting a secret, and only for a file that this process does not have open.
 */
export function checkUnopenedFile(path: string, use: Pick<FileUse, 'isOnlyRead'> = {}): void {
  checkOpenable(path, use);
  if (isForeign(path)) throw new Fault('not_a_vault', `${path} is not a vault`);
}

function requireAccess(path: string, access: number, faultOf: (cause: unknown) => Fault): void {
  try {
    accessSync(path, access);
  } catch (cause) {
    throw faultOf(cause);
  }
}

function look(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (cause) {
    const hint = errorCode(cause) === 'EACCES' ? 'run it as the user of the vault, or as root' : undefined;
    throw new Fault('file_unwritable', `${path} cannot be reached`, { hint, cause });
  }
}

function assertSafe(path: string, found: BigIntStats): void {
  if (found.isSymbolicLink()) {
    throw new Fault('file_unsafe', `${path} is a symbolic link`, { hint: 'name the file that the link points to' });
  }
  if (found.isDirectory()) {
    throw new Fault('file_unsafe', `${path} is a directory`, { hint: 'name the file of the vault' });
  }
  if (!found.isFile()) throw new Fault('file_unsafe', `${path} is not a regular file`);
  // These values mean nothing on Windows, which stores owners and permissions elsewhere.
  const user = process.getuid?.();
  if (user === undefined) return;
  // Root may open the vault of a service. SQLite gives the log and the shared memory to the owner of the file.
  if (user !== 0 && found.uid !== BigInt(user) && found.uid !== 0n) {
    throw new Fault('file_unsafe', `${path} belongs to ${userName(found.uid)}`, { hint: hintFor(found) });
  }
  if ((found.mode & WRITTEN_BY_OTHERS) === 0n) return;
  throw new Fault('file_unsafe', `${path} can be written by other users`);
}

/** Returns a hint that names the owner of a file; undefined for a file of this user. */
function hintFor({ uid }: BigIntStats): string | undefined {
  if (uid === BigInt(process.getuid?.() ?? uid)) return undefined;
  return uid === 0n ? 'run it as root' : `run it as ${userName(uid)}, or as root`;
}

/**
 * Throws `file_unsafe` for a log, shared memory or journal that root may not use. SQLite removes the files that a
 * journal names, so the owner of a vault could make root remove any file.
 */
function assertBeside(path: string, beside: BigIntStats, vault: BigIntStats): void {
  assertSafe(path, beside);
  if (process.getuid?.() !== 0) return;
  // SQLite gives a log to the owner of the file. A second name may be that of a file of root.
  if (beside.nlink > 1n) {
    throw new Fault('file_unsafe', `${path} is one of ${beside.nlink} names of the same file (hard links)`, {
      hint: 'remove the other names',
    });
  }
  const owner = userName(vault.uid);
  if (beside.uid !== vault.uid && beside.uid !== 0n) {
    throw new Fault('file_unsafe', `${path} does not belong to ${owner}`, {
      hint: `chown it to ${owner}, or remove it`,
    });
  }
  if (vault.uid !== 0n && path.endsWith('-journal')) {
    throw new Fault('file_unsafe', `${path} is a journal of ${owner}`, { hint: `first run a command as ${owner}` });
  }
}

/**
 * Returns whether a file is not a vault; false if it cannot be read. Call it only for a file that this process does not
 * have open: reading the file would drop SQLite's locks on it.
 */
function isForeign(path: string): boolean {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    const head = Buffer.alloc(HEAD_BYTES);
    const read = readSync(file, head, 0, HEAD_BYTES, 0);
    return read < HEAD_BYTES || head.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID;
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Returns a text that identifies a file, whatever its path. */
export function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/** How long a check of the path stays valid for reads, in milliseconds. */
const FRESH_MS = 100;

/**
 * Detects that the path no longer leads to the open file: later writes would be lost with the unlinked file. Uses only
 * `stat`, since reading the file's bytes would drop SQLite's locks.
 */
export class PathWatch {
  readonly #path: string;
  /** Identifies the open file, whatever path it was opened by. */
  readonly identity: string;
  /** The inode of the write-ahead log. SQLite keeps the log open as long as the file. */
  #log: bigint | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(path: string, opened: BigIntStats) {
    this.#path = path;
    this.identity = identityOf(opened);
    this.#log = this.#logInode();
  }

  #logInode(): bigint | undefined {
    return statSync(`${this.#path}-wal`, { bigint: true, throwIfNoEntry: false })?.ino;
  }

  /** Throws `vault_moved` when the path leads to another file or to none. */
  check(): void {
    const found = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined || identityOf(found) !== this.identity) throw new Problem('vault_moved', { retryAfter: 1 });
    // Commits to an unlinked log are lost with it, and SQLite does not notice.
    this.#log ??= this.#logInode();
    if (this.#log !== this.#logInode()) throw new Problem('vault_moved', { retryAfter: 1 });
    this.#checkedAt = runningTime();
  }

  /** Calls `check` unless the last check is still fresh. */
  checkNowAndThen(): void {
    if (runningTime() - this.#checkedAt > FRESH_MS) this.check();
  }
}

/** Returns the name of a user in `/etc/passwd`; `user N` if it has none, as a dynamic user of systemd. */
function userName(uid: bigint): string {
  return userNames().get(String(uid)) ?? `user ${uid}`;
}

function userNames(): ReadonlyMap<string, string> {
  try {
    const rows = readFileSync('/etc/passwd', 'utf8').split('\n').reverse();
    return new Map(rows.map((row) => row.split(':')).map(([name = '', , uid = '']) => [uid, name]));
  } catch {
    return new Map();
  }
}
