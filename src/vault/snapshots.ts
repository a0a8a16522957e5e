import { existsSync, lstatSync } from 'node:fs';
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Fault } from '../core/fault.ts';
import type { SnapshotFolder } from '../core/maintenance-ports.ts';
import { vaultSnapshots } from '../maintenance/vault-snapshots.ts';
import { checkFile } from '../store/sqlite/file/check-file.ts';
import { errorCode } from '../store/sqlite/file/sqlite-error.ts';
import { type KeyHolderOptions, openForKeyHolder } from './key-holder.ts';

const SUFFIX = '.db';

/** The name of a snapshot during its creation, and the file that SQLite may keep next to it. */
const LEFTOVER = /^\..+\.new(?:-journal)?$/;
const LEFTOVER_AGE_MS = 60 * 60 * 1000;

/** The work on snapshots for the holder of a vault's key. Other processes may serve the file. */
export type VaultSnapshots = Awaited<ReturnType<typeof openVaultSnapshots>>;

/** Returns the folder of the snapshots of a vault. */
export const folderOf = (file: string): string => `${resolve(file)}.snapshots`;

/** Returns the number of snapshots that the vault's current keys can load. Throws what `openVault` throws. */
export async function countLoadableSnapshots(options: KeyHolderOptions): Promise<number> {
  if (!existsSync(folderOf(options.file))) return 0;
  const snapshots = await openVaultSnapshots(options);
  try {
    return (await snapshots.list()).filter(({ refused }) => refused === undefined).length;
  } finally {
    await snapshots.close();
  }
}

/** Throws what `openVault` throws. */
export async function openVaultSnapshots(options: KeyHolderOptions) {
  const opened = await openForKeyHolder(options);
  return { ...vaultSnapshots({ ...opened, folder: snapshotFolder(folderOf(options.file)) }), close: opened.close };
}

function snapshotFolder(folder: string): SnapshotFolder {
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
      return Number(checkFile(path).size);
    },
    async prepare() {
      await mkdir(folder, { mode: 0o700 }).catch((cause: unknown) => {
        if (errorCode(cause) === 'EEXIST') return;
        throw new Fault('file_unwritable', 'the folder of the snapshots cannot be made', { cause });
      });
      await checkFolder(folder);
      await removeLeftovers(folder);
    },
    remove: (name) => rm(pathOf(name)),
  };
}

/** Removes what a killed save left: it is sealed but needs disk space. A running save is younger. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (!LEFTOVER.test(entry)) continue;
    const path = join(folder, entry);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (Date.now() - mtimeMs > LEFTOVER_AGE_MS) await rm(path, { force: true });
  }
}

/** Other users with write access could replace a snapshot. */
async function checkFolder(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (!found.isDirectory()) throw new Fault('file_unsafe', `${folder} is not a folder`);
  // Windows keeps owners and permissions elsewhere.
  const user = process.getuid?.();
  if (user !== undefined && (found.uid !== user || (found.mode & 0o077) !== 0)) {
    throw new Fault('file_unsafe', `${folder} is open to other users`, { hint: `chmod 700 ${folder}` });
  }
}
