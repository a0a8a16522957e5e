import { randomBytes } from 'node:crypto';
import { constants, existsSync, lstatSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Fault } from '../../core/fault.ts';
import type { Store, VaultHeader } from '../../core/ports.ts';
import { COMPANIONS } from './check-file.ts';
import { connect, setPragmas } from './connect.ts';
import { loadDriver } from './driver.ts';
import { writeHeader } from './header-table.ts';
import { openVaultFile } from './open-vault-file.ts';
import { APPLICATION_ID, FORMAT, SCHEMA } from './schema.ts';

/**
 * Makes a vault at `path` that holds `header` and what `fill` puts into it. It is built under another name in the same folder and
 * appears whole, closed to other users, or not at all; an existing file is never touched. Throws the faults
 * `file_exists`, `file_unwritable`, `no_space`, `binding_missing`.
 */
export async function createVaultFile(
  path: string,
  header: VaultHeader,
  fill?: (store: Store) => Promise<void>,
): Promise<void> {
  const target = resolve(path);
  assertFree(target);
  const Database = await loadDriver();
  const folder = dirname(target);
  const building = join(folder, `.${basename(target).slice(0, 64)}.${randomBytes(8).toString('hex')}.new`);
  try {
    await makeEmpty(building);
    const connection = connect(Database, building);
    try {
      setPragmas(connection);
      connection.transaction(() => {
        for (const statement of SCHEMA) connection.exec(statement);
        writeHeader(connection, header);
        connection.pragma(`application_id = ${APPLICATION_ID}`);
        connection.pragma(`user_version = ${FORMAT}`);
      })();
      connection.pragma('wal_checkpoint(TRUNCATE)');
    } finally {
      connection.close();
    }
    if (fill) await fillStore(building, fill);
    await publish(building, target);
    await syncFolder(folder);
  } catch (error) {
    throw toFault(target, error);
  } finally {
    for (const suffix of ['', ...COMPANIONS]) await rm(building + suffix, { force: true });
  }
}

async function fillStore(building: string, fill: (store: Store) => Promise<void>): Promise<void> {
  const { store } = await openVaultFile(building);
  try {
    await fill(store);
  } finally {
    await store.close();
  }
}

/** SQLite would apply a log that was left beside the name to the new file, so that is in the way, too. */
function assertFree(target: string): void {
  if (target !== target.trim()) throw new Fault('usage', 'the name of a vault must not end in white space');
  for (const suffix of ['', ...COMPANIONS]) {
    if (lstatSync(target + suffix, { throwIfNoEntry: false }) !== undefined) {
      throw new Fault('file_exists', `${target}${suffix} exists`);
    }
  }
}

async function makeEmpty(path: string): Promise<void> {
  const noFollow = constants.O_NOFOLLOW ?? 0;
  const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | noFollow, 0o600);
  try {
    if (process.platform !== 'win32') await file.chmod(0o600);
  } finally {
    await file.close();
  }
}

const NO_HARD_LINKS: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Gives the finished file its name. A link never replaces a file; where there are no links, a placeholder of our own does. */
async function publish(building: string, target: string): Promise<void> {
  try {
    await link(building, target);
  } catch (error) {
    if (!NO_HARD_LINKS.has(systemCode(error))) throw error;
    await makeEmpty(target);
    await rename(building, target);
  }
}

/** The new name must survive a power failure, as the contents do. Windows has no such call for folders. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function toFault(target: string, error: unknown): unknown {
  if (error instanceof Fault) return error;
  const code = systemCode(error) ?? '';
  if (code === 'EEXIST') return new Fault('file_exists', `${target} exists`, { cause: error });
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_WRITE') {
    return new Fault('no_space', `there is no space left for ${target}`, { cause: error });
  }
  if (code === 'ENOENT' && !existsSync(dirname(target))) {
    return new Fault('file_unwritable', `there is no folder ${dirname(target)}`, { cause: error });
  }
  return code === '' ? error : new Fault('file_unwritable', `${target} cannot be written`, { cause: error });
}
