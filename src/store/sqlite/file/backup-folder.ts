import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Fault } from '../../../core/fault.ts';
import { MachineDate, sleep, wallTime } from '../../../core/timers.ts';
import { COMPANIONS } from '../../../paths/own-name.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { backUpVaultFile } from './back-up-file.ts';
import { checkUnopenedFile, identityOf } from './check-openable.ts';
import { withConnection } from './connect.ts';
import { readHeader } from './header-table.ts';
import { removeDrafts } from './place-file.ts';
import { fileFaultOf } from './probe-disk.ts';

/** Matches the name of a backup, which contains its time in UTC. The names sort by time. */
const BACKUP = /^vault-\d{8}T\d{6}Z\.db$/;

/** The minimum age of an unfinished backup before it is removed, in milliseconds. A large vault may take hours. */
const DRAFT_AGE_MS = 12 * 60 * 60 * 1000;

const SECOND_MS = 1000;

/**
 * The maximum number of attempts. Each attempt uses the name of a later second, because a backup of another vault may
 * have the earlier name.
 */
const MAX_TRIES = 30;

export interface KeptBackup {
  /** The path of the new backup. */
  readonly file: string;
  /** The paths of the removed backups, oldest first. */
  readonly removed: readonly string[];
  /** The paths of backups whose names are later than that of the new one. They are neither counted nor removed. */
  readonly future: readonly string[];
}

export interface KeepOptions {
  readonly folder: string;
  /** How many backups of the vault to keep, including the new one. At least 1. */
  readonly keep: number;
  readonly now?: (() => Date) | undefined;
}

/**
 * Backs up the vault `file` into an existing folder, as `vault-YYYYMMDDTHHMMSSZ.db`. Then removes the oldest backups of
 * the same vault: only files with such a name and the id of the vault in their header. Keeps the vault itself,
 * read-only files, files in use, and names in the future. Throws as `backUpVaultFile` does, and `file_unwritable` for a
 * backup that cannot be removed.
 */
export async function backUpFileIntoFolder(
  file: string,
  { folder, keep, now = () => new MachineDate(wallTime()) }: KeepOptions,
  verify: (copy: string) => Promise<void>,
): Promise<KeptBackup> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Fault('usage', `${folder} is not a folder`, { hint: 'name an existing folder for the backups' });
  }
  const vaultId = await readVaultId(resolve(file)).catch(async (error: unknown) => {
    throw await fileFaultOf(file, error);
  });
  if (vaultId === undefined) throw new Fault('damaged', `${file} has no header`);
  await removeDrafts(folder, { label: vaultId, minAgeMs: DRAFT_AGE_MS });
  const parts = { folder, keep, now, vaultId };
  const backup = await backUpByTime(file, parts, verify);
  return { file: backup, ...(await removeOldest(file, backup, parts)) };
}

interface BackupParts extends Required<KeepOptions> {
  readonly now: () => Date;
  readonly vaultId: string;
}

async function backUpByTime(
  file: string,
  { folder, vaultId, now }: BackupParts,
  verify: (copy: string) => Promise<void>,
): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const path = join(folder, nameAt(now()));
    try {
      if (existsSync(path)) throw new Fault('file_exists', `${path} exists`);
      await backUpVaultFile(file, path, verify, { label: vaultId });
      return path;
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'file_exists' || tries === MAX_TRIES) throw error;
    }
    // A backup of another vault has the name of this second. Wait for the next second.
    await sleep(SECOND_MS - (wallTime() % SECOND_MS));
  }
}

function nameAt(time: Date): string {
  const utc = time.toISOString().replace(/\.\d+Z$/, 'Z');
  return `vault-${utc.replaceAll(/[-:]/g, '')}.db`;
}

async function removeOldest(file: string, backup: string, { folder, keep, vaultId }: BackupParts) {
  const [older, future]: [string[], string[]] = [[], []];
  for (const name of (await readdir(folder)).sort()) {
    const path = join(folder, name);
    if (!BACKUP.test(name) || path === backup || isSame(path, file)) continue;
    if ((await idOfUnused(path)) !== vaultId) continue;
    // A clock that was wrong once would otherwise make these the newest backups for years.
    (path > backup ? future : older).push(path);
  }
  const removed = older.slice(0, Math.max(0, older.length - (keep - 1)));
  for (const path of removed) {
    try {
      for (const suffix of ['', ...COMPANIONS]) await rm(path + suffix, { force: true });
    } catch (cause) {
      throw new Fault('file_unwritable', `the backup is ${backup}, but ${path} cannot be removed`, {
        hint: 'remove it by hand',
        cause,
      });
    }
  }
  return { removed, future };
}

function isSame(one: string, other: string): boolean {
  const [found, wanted] = [one, other].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return found !== undefined && wanted !== undefined && identityOf(found) === identityOf(wanted);
}

/**
 * Resolves to the vault id of a backup that this process may change and no process uses. Resolves to undefined for any
 * other file.
 */
async function idOfUnused(path: string): Promise<string | undefined> {
  try {
    accessSync(path, constants.W_OK);
    checkUnopenedFile(path, { isOnlyRead: true });
    const id = await readVaultId(resolve(path));
    // The last process that closes a file removes its log, so a file with a log is in use.
    return existsSync(`${path}-wal`) ? undefined : id;
  } catch {
    return undefined;
  }
}

/** Resolves to the vault id in the header, which only the vault's key can verify. Rejects with errors of SQLite. */
function readVaultId(path: string): Promise<string | undefined> {
  return withConnection(path, (connection) => {
    connection.pragma('trusted_schema = OFF');
    return retryBusy(() => readHeader(connection)?.vault_id);
  });
}
