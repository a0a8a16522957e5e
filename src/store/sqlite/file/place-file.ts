import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants, existsSync, lstatSync, mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { lstat, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { diskHint } from '../../../contract/faults.ts';
import { errorCode, Fault } from '../../../core/fault.ts';
import { wallTime } from '../../../core/timers.ts';
import { atExit } from '../../../paths/at-exit.ts';
import { copyBytes } from '../../../paths/copy-bytes.ts';
import { createFile, type Owner } from '../../../paths/create-file.ts';
import { guardedFolder } from '../../../paths/guarded-folder.ts';
import { assertOwnName, COMPANIONS } from '../../../paths/own-name.ts';
import { putInPlace } from '../../../paths/put-in-place.ts';
import { assertReplaceable } from '../../../paths/replaceable.ts';
import { syncFile } from '../../../paths/sync-file.ts';
import { identityOf } from './check-openable.ts';
import { draftOf } from './file-names.ts';
import { withoutLocks } from './lock-probe.ts';
import { isMountPoint, MOUNT_HINT } from './mount-points.ts';
import { moveFilesAside } from './move-aside.ts';
import { probeDisk } from './probe-disk.ts';
import { isFailedWrite, NO_SPACE_CODES, onReadOnlyDisk, type Probe, tooManyFiles } from './sqlite-error.ts';

const NO_FOLLOW = (constants.O_NOFOLLOW as number | undefined) ?? 0;

export interface Placing {
  /** Whether to replace an existing file. By default, it is an error. */
  readonly replace?: boolean | undefined;
  /** Whether to rename an existing file, together with its log. Refuses a file that a process has open. */
  readonly moveAside?: boolean | undefined;
  /** The owner of the new file. By default, it belongs to this user. */
  readonly owner?: Owner | undefined;
  /** The permissions of the new file; 0600 by default. */
  readonly mode?: number | undefined;
  /** A part of the temporary name, without dots. `removeDrafts` finds the files of killed processes by this part. */
  readonly label?: string | undefined;
  /** Closes the replaced file. Called right before the rename on Windows, which cannot replace an open file. */
  readonly release?: (() => void) | undefined;
}

/**
 * Places a database file at `path`. `build` fills an empty file that has a temporary name in the same
 * folder. The file appears at `path` complete and synced, or not at all. Throws the faults `file_exists`,
 * `file_unwritable`, `no_space`, those of `moveFilesAside`, and the errors of `build`.
 */
export async function placeFile(
  path: string,
  build: (building: string) => Promise<void>,
  { replace = false, moveAside = false, owner, mode, label, release }: Placing = {},
): Promise<void> {
  const target = resolve(path);
  if (replace || moveAside) assertMovable(target);
  else assertFree(target);
  const folder = dirname(target);
  const name = `${[draftOf(target), label, randomBytes(8).toString('hex')].filter(Boolean).join('.')}.new`;
  const near = join(folder, name);
  const guarded = guardedFolder(folder);
  const apart = guarded === folder ? undefined : join(guarded, name);
  const building = apart === undefined ? near : join(apart, name);
  const remove = () => {
    for (const suffix of ['', ...COMPANIONS]) rmSync(near + suffix, { force: true });
    if (apart !== undefined) removeApart(apart);
  };
  // A signal may end the process at any point, so also remove the parts on exit.
  const keep = atExit(remove);
  try {
    if (apart !== undefined) mkdirSync(apart, { mode: 0o700 });
    await fill(building, build, { owner, mode });
    if (moveAside) await moveFilesAside(target);
    if (release !== undefined && process.platform === 'win32') {
      release();
      // Rename synchronously, so that no other process can write to the released file before.
      renameSync(building, target);
    } else {
      const placement = replace ? 'replace' : 'new';
      await putInPlace(building, target, placement).catch(async (error: unknown) => {
        if (apart === undefined || errorCode(error) !== 'EXDEV') throw error;
        await fill(near, (draft) => copyBytes(building, draft), { owner, mode });
        await putInPlace(near, target, placement);
      });
    }
    await syncFolder(folder);
  } catch (error) {
    const probe = isFailedWrite(error) ? await probeDisk(building) : undefined;
    throw toFault(target, await withoutLocks(target, error), probe);
  } finally {
    remove();
    keep();
  }
}

/** Creates a draft, fills it, and writes it to disk. */
async function fill(
  draft: string,
  build: (draft: string) => Promise<void>,
  { owner, mode }: Pick<Placing, 'owner' | 'mode'>,
): Promise<void> {
  const file = await createFile(draft, owner, mode);
  const created = await file.stat({ bigint: true }).finally(() => file.close());
  await build(draft);
  assertSame(draft, created);
  await sync(draft, constants.O_RDWR | NO_FOLLOW);
}

/** Removes the folder of a draft with the same name. Removes nothing else in it, since another user may have made it. */
function removeApart(folder: string): void {
  const draft = join(folder, basename(folder));
  try {
    for (const suffix of ['', ...COMPANIONS]) rmSync(draft + suffix, { force: true });
    rmdirSync(folder);
  } catch {
    // It does not exist, or it is not ours.
  }
}

/** Throws `file_unsafe` if another file has the name of a draft: the owner of the folder could put one there. */
function assertSame(building: string, created: BigIntStats): void {
  const found = lstatSync(building, { bigint: true, throwIfNoEntry: false });
  if (found !== undefined && identityOf(found) === identityOf(created)) return;
  throw new Fault('file_unsafe', `${building} was replaced while it was written`, { hint: 'try again' });
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
  for (const directory of new Set([folder, guardedFolder(folder)])) {
    // The caller reports a folder that it cannot use.
    for (const entry of await readdir(directory).catch(() => [])) {
      const [, draft, itsLabel] = DRAFT.exec(entry) ?? [];
      if (itsLabel !== label || (target !== undefined && draft !== draftOf(target))) continue;
      const path = join(directory, entry);
      const { mtimeMs } = await lstat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
      if (wallTime() - mtimeMs < minAgeMs) continue;
      await rm(path, { force: true }).catch(() => removeApart(path));
    }
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
