import { type BigIntStats, constants, lstatSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../core/fault.ts';

/** The owner and group of a file, as numbers of the system. */
export type Owner = Readonly<Pick<BigIntStats, 'uid' | 'gid'>>;

const NO_FOLLOW = (constants.O_NOFOLLOW as number | undefined) ?? 0;
const BIGINT = { bigint: true, throwIfNoEntry: false } as const;

/**
 * Returns the owner of a file that root creates for a vault: that of the file which it replaces, else that of its
 * folder. A service could not open a file of root. Returns undefined for other users, because they own the files that
 * they create.
 */
export function ownerOfVaultFile(path: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return lstatSync(path, BIGINT) ?? statSync(dirname(path), BIGINT);
}

/**
 * Creates an empty file with this mode, whatever the umask, and gives it to `owner`. Follows no link. Rejects
 * with errors of the system, and with the fault `file_unwritable` if this user may not change the owner.
 */
export async function createFile(path: string, owner?: Owner, mode = 0o600): Promise<FileHandle> {
  const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | NO_FOLLOW, 0o600);
  try {
    // The umask may have removed access of the owner. Some file systems without modes allow no change.
    if (((await file.stat()).mode & mode) !== mode) await file.chmod(mode);
    if (owner !== undefined) await giveTo(owner, file);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Gives a new folder to `owner`. Opens it first, because the owner of its parent could replace it by a link. */
export async function giveFolder(path: string, owner: Owner): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | NO_FOLLOW);
  try {
    await giveTo(owner, folder);
  } finally {
    await folder.close();
  }
}

async function giveTo({ uid, gid }: Owner, file: FileHandle): Promise<void> {
  const made = await file.stat({ bigint: true });
  if (made.uid === uid && made.gid === gid) return;
  await file.chown(Number(uid), Number(gid)).catch((cause: unknown) => {
    throw new Fault('file_unwritable', 'the new file cannot have the owner and group of the vault', {
      hint: 'run the command as the owner of the vault',
      cause,
    });
  });
}
