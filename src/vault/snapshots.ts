import { lstatSync } from 'node:fs';
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCode, Fault } from '../core/fault.ts';
import { formatInstant } from '../core/time.ts';
import type { Credential } from '../keyring/credential.ts';
import { unlockKeyring } from '../keyring/master-key.ts';
import { giveFolder, ownerOfVaultFile } from '../paths/create-file.ts';
import { checkOpenable } from '../store/sqlite/file/check-openable.ts';
import { copyUnusedFile, countTokens, replaceByCopy } from '../store/sqlite/file/copy-unused-file.ts';
import { withVaultFile } from '../store/sqlite/file/open-vault-file.ts';

const SUFFIX = '.db';

/** A snapshot as commands print it. */
interface Snapshot {
  readonly name: string;
  readonly saved_at: string;
  readonly tokens: number;
  readonly bytes: number;
}

/** A snapshot in a list. `refused` is the reason why it cannot be loaded. */
type ListedSnapshot = Pick<Snapshot, 'name' | 'bytes'> & Partial<Snapshot> & { readonly refused?: string };

/** The functions on the snapshots of a vault file. */
export type VaultSnapshots = ReturnType<typeof vaultSnapshots>;

/**
 * A snapshot name. It is in lower case, since some disks ignore case. The pattern excludes the names that Windows
 * reserves for devices.
 */
const NAME = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9][a-z0-9_-]{0,63}$/;

/** Throws the fault `usage` for an invalid snapshot name. */
export function checkSnapshotName(name: string): void {
  if (NAME.test(name)) return;
  throw new Fault('usage', 'a snapshot name must be 1 to 64 lower-case letters, digits, - and _');
}

/** Returns the path of a vault's snapshot folder. */
export const folderOf = (file: string): string => `${resolve(file)}.snapshots`;

/** Resolves to the names of a vault's snapshots in alphabetical order. */
export async function snapshotNames(file: string): Promise<readonly string[]> {
  const entries = await readdir(folderOf(file)).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  const names = entries.filter((entry) => entry.endsWith(SUFFIX)).map((entry) => entry.slice(0, -SUFFIX.length));
  return names.filter((name) => NAME.test(name)).sort();
}

/** Returns the functions that save, list, load and delete the snapshots of a vault. Each is a copy of the whole file. */
export function vaultSnapshots(file: string, credential: () => Promise<Credential>) {
  const folder = folderOf(file);
  const pathOf = (name: string): string => join(folder, name + SUFFIX);

  /** Returns the path of a snapshot. Throws `not_found`, and the faults of a file that is not safe to open. */
  function existing(name: string): string {
    checkSnapshotName(name);
    const path = pathOf(name);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) {
      throw new Fault('not_found', `there is no snapshot ${name}`, {
        hint: 'list them with `vault dev snapshot list`',
      });
    }
    checkOpenable(path, { isOnlyRead: true });
    return path;
  }

  async function show(name: string): Promise<Snapshot> {
    const path = existing(name);
    const { mtimeMs, size } = lstatSync(path);
    return { name, saved_at: formatInstant(Math.floor(mtimeMs)), tokens: await countTokens(path), bytes: size };
  }

  /** Throws `conflict` for a snapshot of another vault, or one that the key does not open, and `damaged`. */
  const verify = (name: string) => (copy: string, vaultId: string | undefined) =>
    withVaultFile(copy, async ({ header }) => {
      if (header.vault_id !== vaultId) throw new Fault('conflict', `the snapshot ${name} belongs to another vault`);
      (await unlockKeyring(header, await credential())).close();
    }).catch((cause: unknown) => {
      if (!(cause instanceof Fault)) throw cause;
      if (cause.code === 'not_a_vault') throw new Fault('damaged', `${pathOf(name)} is damaged`, { cause });
      if (cause.code !== 'wrong_credential') throw cause;
      throw new Fault('conflict', `the key does not open the snapshot ${name}`, { cause });
    });

  return {
    /** Saves a snapshot. Throws `file_exists` if the name is in use and `replace` is false. */
    async save(name: string, { replace }: { readonly replace: boolean }): Promise<Snapshot> {
      checkSnapshotName(name);
      await prepareFolder(file);
      await copyUnusedFile(file, pathOf(name), replace).catch((cause: unknown) => {
        if (!(cause instanceof Fault) || cause.code !== 'file_exists') throw cause;
        throw new Fault('file_exists', `snapshot ${name} already exists`, {
          hint: 'pass --replace to overwrite it',
          cause,
        });
      });
      return show(name);
    },

    /** Lists the snapshots by name. */
    async list(): Promise<readonly ListedSnapshot[]> {
      const snapshots: ListedSnapshot[] = [];
      for (const name of await snapshotNames(file)) {
        const listed = show(name).catch((error: unknown): ListedSnapshot => {
          if (!(error instanceof Fault)) throw error;
          return { name, bytes: 0, refused: error.message };
        });
        snapshots.push(await listed);
      }
      return snapshots;
    },

    /**
     * Replaces the vault file by a snapshot. Throws `not_found`, `damaged`, and `conflict` for a snapshot of another
     * vault.
     */
    async load(name: string): Promise<Snapshot> {
      const shown = await show(name);
      await replaceByCopy(pathOf(name), file, verify(name));
      return shown;
    },

    /** Deletes a snapshot. Throws `not_found`. */
    delete: async (name: string): Promise<void> => rm(existing(name)),
  };
}

/** Creates the folder with access for this user only. Throws `file_unwritable` and `file_unsafe`. */
async function prepareFolder(file: string): Promise<void> {
  const folder = folderOf(file);
  const owner = ownerOfVaultFile(file);
  try {
    await mkdir(folder, { mode: 0o700 });
    if (owner !== undefined) await giveFolder(folder, owner);
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') {
      throw new Fault('file_unwritable', `cannot create the snapshot folder ${folder}`, { cause });
    }
  }
  const found = await lstat(folder);
  if (!found.isDirectory()) throw new Fault('file_unsafe', `${folder} is not a folder`);
  // Skip the check on Windows, which stores owners and permissions elsewhere.
  const user = process.getuid?.();
  const isOurs = user === undefined || found.uid === user || found.uid === Number(owner?.uid);
  // With write access, others could replace a snapshot.
  if (!isOurs || (user !== undefined && (found.mode & 0o077) !== 0)) {
    throw new Fault('file_unsafe', `${folder} is open to other users`, { hint: `chmod 700 ${folder}` });
  }
}
