import { existsSync, lstatSync } from 'node:fs';
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCode } from '../core/error-code.ts';
import { Fault } from '../core/fault.ts';
import type { SnapshotFolder } from '../core/maintenance-ports.ts';
import { wallTime } from '../core/timers.ts';
import { vaultSnapshots } from '../maintenance/vault-snapshots.ts';
import { giveFolder, type Owner, ownerOfVaultFile } from '../paths/create-file.ts';
import { checkFile } from '../store/sqlite/file/check-file.ts';
import { type FileHolderOptions, openFileForKeyHolder } from './key-holder.ts';

const SUFFIX = '.db';

/** Matches the temporary name of a snapshot during its creation, and the journal that SQLite may keep beside it. */
const LEFTOVER = /^\..+\.new(?:-journal)?$/;
const LEFTOVER_AGE_MS = 60 * 60 * 1000;

/** The functions on snapshots for the holder of a vault's key. Other processes may serve the file. */
export type VaultSnapshots = Awaited<ReturnType<typeof openVaultSnapshots>>;

/** Returns the path of a vault's snapshot folder. */
export const folderOf = (file: string): string => `${resolve(file)}.snapshots`;

/** Resolves to the number of snapshots that the vault's current keys can load. Rejects as `openVault` does. */
export async function countLoadableSnapshots(options: FileHolderOptions): Promise<number> {
  if (!existsSync(folderOf(options.file))) return 0;
  const snapshots = await openVaultSnapshots(options);
  try {
    return (await snapshots.list()).filter(({ refused }) => refused === undefined).length;
  } finally {
    await snapshots.close();
  }
}

/** Opens a vault for work on its snapshots. Rejects as `openVault` does. */
export async function openVaultSnapshots(options: FileHolderOptions) {
  const opened = await openFileForKeyHolder(options);
  return {
    ...vaultSnapshots({ ...opened, folder: snapshotFolder(folderOf(options.file), ownerOfVaultFile(options.file)) }),
    close: opened.close,
  };
}

function snapshotFolder(folder: string, owner: Owner | undefined): SnapshotFolder {
  const pathOf = (name: string): string => join(folder, name + SUFFIX);
  return {
    pathOf,
    async names() {
      const entries = await readdir(folder).catch((error: unknown) => {
        if (errorCode(error) === 'ENOENT') return [];
        throw error;
      });
      const names = entries.filter((entry) => entry.endsWith(SUFFIX)).map((entry) => entry.slice(0, -SUFFIX.length));
      return names.sort();
    },
    async check(name) {
      const path = pathOf(name);
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
      return Number(checkFile(path, { isOnlyRead: true }).size);
    },
    async prepare() {
      try {
        await mkdir(folder, { mode: 0o700 });
        if (owner !== undefined) await giveFolder(folder, owner);
      } catch (cause) {
        if (errorCode(cause) !== 'EEXIST') {
          throw new Fault('file_unwritable', `cannot create the snapshot folder ${folder}`, { cause });
        }
      }
      await checkFolder(folder, owner);
      await removeLeftovers(folder);
    },
    remove: (name) => rm(pathOf(name)),
  };
}

/**
 * Removes the files of killed saves, which take up disk space. The file of a running save is younger than
 * LEFTOVER_AGE_MS.
 */
async function removeLeftovers(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (!LEFTOVER.test(entry)) continue;
    const path = join(folder, entry);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (wallTime() - mtimeMs > LEFTOVER_AGE_MS) await rm(path, { force: true });
  }
}

/**
 * Throws `file_unsafe` unless the folder belongs to this user, or, for root, to the owner of the vault, and others have
 * no access: with write access, they could replace a snapshot.
 */
async function checkFolder(folder: string, owner: Owner | undefined): Promise<void> {
  const found = await lstat(folder);
  if (!found.isDirectory()) throw new Fault('file_unsafe', `${folder} is not a folder`);
  // Skip the check on Windows, which stores owners and permissions elsewhere.
  const user = process.getuid?.();
  if (user === undefined) return;
  const isOurs = found.uid === user || found.uid === Number(owner?.uid);
  if (!isOurs || (found.mode & 0o077) !== 0) {
    throw new Fault('file_unsafe', `${folder} is open to other users`, { hint: `chmod 700 ${folder}` });
  }
}
