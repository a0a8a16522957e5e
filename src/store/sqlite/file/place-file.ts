import { randomBytes } from 'node:crypto';
import { constants, existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { diskHint } from '../../../contract/faults.ts';
import { errorCode } from '../../../core/error-code.ts';
import { Fault } from '../../../core/fault.ts';
import { MachineDate, wallTime } from '../../../core/timers.ts';
import { atExit } from '../../../paths/at-exit.ts';
import { createFile, type Owner } from '../../../paths/create-file.ts';
import { assertOwnName, COMPANIONS } from '../../../paths/own-name.ts';
import { putInPlace } from '../../../paths/put-in-place.ts';
import { assertReplaceable } from '../../../paths/replaceable.ts';
import { syncFile } from '../../../paths/sync-file.ts';
import { draftOf } from './file-names.ts';
import { withoutLocks } from './lock-probe.ts';
import { isMountPoint, MOUNT_HINT } from './mount-points.ts';
import { probeDisk } from './probe-disk.ts';
import { isFailedWrite, NO_SPACE_CODES, onReadOnlyDisk, type Probe, tooManyFiles } from './sqlite-error.ts';

export interface Placing {
  /** Whether to replace an existing file. By default, it is an error. */
  readonly replace?: boolean | undefined;
  /** Whether to rename an existing file, together with its log. */
  readonly moveAside?: boolean | undefined;
  /** The owner of the new file. By default, it belongs to this user. */
  readonly owner?: Owner | undefined;
  /** A part of the temporary name, without dots. `removeDrafts` finds the files of killed processes by this part. */
  readonly label?: string | undefined;
  /** Closes the replaced file. Called right before the rename on Windows, which cannot replace an open file. */
  readonly release?: (() => void) | undefined;
}

/**
 * Places a database file at `path`. `build` fills an empty file of mode 0600 that has a temporary name in the same
 * folder. The file appears at `path` complete and synced, or not at all. Throws the faults `file_exists`,
 * `file_unwritable`, `no_space`, and the errors of `build`.
 */
export async function placeFile(
  path: string,
  build: (building: string) => Promise<void>,
  { replace = false, moveAside = false, owner, label, release }: Placing = {},
): Promise<void> {
  const target = resolve(path);
  if (replace || moveAside) assertMovable(target);
  else assertFree(target);
  const folder = dirname(target);
  const name = [draftOf(target), label, randomBytes(8).toString('hex')].filter(Boolean).join('.');
  const building = join(folder, `${name}.new`);
  const parts = ['', ...COMPANIONS].map((suffix) => building + suffix);
  // A signal may end the process at any point, so also remove the parts on exit.
  const keep = atExit(() => {
    for (const part of parts) rmSync(part, { force: true });
  });
  try {
    await (await createFile(building, owner)).close();
    await build(building);
    await sync(building, constants.O_RDWR);
    if (moveAside) moveFilesAside(target);
    if (release !== undefined && process.platform === 'win32') {
      release();
      // Rename synchronously, so that no other process can write to the released file before.
      renameSync(building, target);
    } else await putInPlace(building, target, replace ? 'replace' : 'new');
    await syncFolder(folder);
  } catch (error) {
    const probe = isFailedWrite(error) ? await probeDisk(building) : undefined;
    throw toFault(target, await withoutLocks(target, error), probe);
  } finally {
    for (const part of parts) await rm(part, { force: true });
    keep();
  }
}

/** Matches the name of a draft: the name of the target, a label, and a random part. */
const DRAFT = /^(\..+)\.([^.]+)\.[0-9a-f]{16}\.new(?:-wal|-shm|-journal)?$/;

/**
 * Removes the files that killed processes left in a folder when they ran `placeFile` with this label, for `target` or
 * for any file. Keeps files that changed in the last `minAgeMs` milliseconds, and files that cannot be removed.
 */
export async function removeDrafts(
  folder: string,
  { label, target, minAgeMs }: { readonly label: string; readonly target?: string; readonly minAgeMs: number },
): Promise<void> {
  // The caller reports a folder that it cannot use.
  for (const entry of await readdir(folder).catch(() => [])) {
    const [, draft, itsLabel] = DRAFT.exec(entry) ?? [];
    if (itsLabel !== label || (target !== undefined && draft !== draftOf(target))) continue;
    const path = join(folder, entry);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (wallTime() - mtimeMs >= minAgeMs) await rm(path, { force: true }).catch(() => undefined);
  }
}

/** Throws `file_exists` if the file or its log exists: SQLite would apply a left-over log to the new file. */
export function assertFree(target: string): void {
  if (target !== target.trim()) throw new Fault('usage', 'the name of a vault must not end in white space');
  assertOwnName(target);
  for (const suffix of ['', ...COMPANIONS]) {
    if (lstatSync(target + suffix, { throwIfNoEntry: false }) === undefined) continue;
    if (suffix === '') throw new Fault('file_exists', `${target} exists`);
    throw new Fault(
      'file_exists',
      `${target}${suffix} belongs to an older ${basename(target)}, and may hold its last writes`,
      { hint: 'keep both with `vault restore --move-aside`' },
    );
  }
}

/** Throws `file_unsafe` for a file that cannot be renamed or replaced, before a copy is made in vain. */
function assertMovable(target: string): void {
  if (assertReplaceable(target) !== undefined && isMountPoint(target)) throw isMounted(target);
}

function isMounted(target: string, cause?: unknown): Fault {
  return new Fault('file_unsafe', `${target} is a mount point`, { hint: MOUNT_HINT, cause });
}

/** Renames the file together with its log, which may contain writes that the file lacks. */
function moveFilesAside(target: string): void {
  const aside = `${target}.aside-${new MachineDate(wallTime()).toISOString().replace(/[-:.]/g, '')}`;
  for (const suffix of ['', ...COMPANIONS]) {
    if (lstatSync(target + suffix, { throwIfNoEntry: false }) !== undefined)
      renameSync(target + suffix, aside + suffix);
  }
}

/** Makes the names in a folder survive a power failure. Windows cannot sync a folder. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform !== 'win32') await sync(folder, constants.O_RDONLY);
}

async function sync(path: string, flags: number): Promise<void> {
  const handle = await open(path, flags);
  try {
    await syncFile(handle);
  } finally {
    await handle.close();
  }
}

function toFault(target: string, error: unknown, probe?: Probe): unknown {
  if (error instanceof Fault) return error;
  const shortage = tooManyFiles(target, error);
  if (shortage !== undefined) return shortage;
  const code = errorCode(error) ?? '';
  if (code === 'EEXIST') return new Fault('file_exists', `${target} exists`, { cause: error });
  if (NO_SPACE_CODES.has(probe ?? code)) {
    return new Fault('no_space', `there is no space left for ${target}`, {
      hint: diskHint(probe ?? code),
      cause: error,
    });
  }
  if (probe !== undefined) {
    return new Fault('disk_error', `${target} cannot be written`, { hint: diskHint(probe), cause: error });
  }
  // Only Windows reports this for a file that another process has open.
  if (code === 'EBUSY' && process.platform !== 'win32') return isMounted(target, error);
  if (code === 'ENOENT' && !existsSync(dirname(target))) {
    return new Fault('file_unwritable', `there is no folder ${dirname(target)}`, {
      cause: error,
      hint: 'create the folder, or name another one',
    });
  }
  if (code === '') return error;
  return code === 'EROFS'
    ? onReadOnlyDisk(target, error)
    : new Fault('file_unwritable', `${target} cannot be written`, { cause: error });
}
