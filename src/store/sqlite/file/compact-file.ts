import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Fault } from '../../../core/fault.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { copyInto } from './back-up-file.ts';
import { checkOpenable } from './check-openable.ts';
import { connect, withConnection } from './connect.ts';
import { type Connection, loadDriver, selectNumber } from './driver.ts';
import { IN_USE_MS, inUse } from './in-use.ts';
import { assertSameFile } from './open-vault-file.ts';
import { placeFile, removeDrafts, syncFolder } from './place-file.ts';
import { fileFaultOf } from './probe-disk.ts';
import { BusyError } from './sqlite-error.ts';

/** The sizes of a file in bytes, before and after. */
export interface Compacted {
  readonly bytes_before: number;
  readonly bytes_after: number;
}

/**
 * Replaces the vault `file` with a copy without free pages, and keeps its mode and owner. Calls `copying` with the size
 * of the file, and `verify` with the copy. If `verify` throws, the file stays as it is. Throws
 * the fault `damaged` for a copy that lacks rows, and those of `replaceUnusedFile`.
 */
export async function compactVaultFile(
  file: string,
  copying: (bytes: number) => void,
  verify: (copy: string) => Promise<void>,
): Promise<Compacted> {
  const path = resolve(file);
  let bytes_before = 0;
  await replaceUnusedFile(path, 'compact', async (building, connection) => {
    bytes_before = (await stat(path)).size;
    const rows = countRows(connection);
    copying(bytes_before);
    await copyInto(connection, building);
    await assertSameRows(building, rows, path);
    await verify(building);
  });
  return { bytes_before, bytes_after: (await stat(path)).size };
}

/**
 * Replaces the vault `file` by the file that `build` writes, and keeps its mode and owner. If `build` throws, the file
 * stays as it is. Other processes cannot open it meanwhile. `label` is a part of the name of the new file until it is
 * complete. Throws the faults `locked_by_other` for a file that another process has open, and those of `checkFile` and
 * `placeFile`.
 */
export async function replaceUnusedFile(
  file: string,
  label: string,
  build: (building: string, connection: Connection) => Promise<void>,
): Promise<void> {
  const { path, found, connection } = await openAlone(file);
  try {
    // The file is locked, so no other process replaces it. Drafts with this label belong to killed processes.
    await removeDrafts(dirname(path), { label, target: path, minAgeMs: 0 });
    const release = () => void connection.close();
    const placing = { replace: true, owner: found, mode: Number(found.mode) & 0o777, label, release };
    await placeFile(path, (building) => build(building, connection), placing).catch(inUse(path));
  } finally {
    connection.close();
  }
}

/** Throws `locked_by_other` if another process has the vault `file` open. */
export async function assertUnused(file: string): Promise<void> {
  (await openAlone(file)).connection.close();
}

interface OpenedAlone {
  readonly path: string;
  readonly found: BigIntStats;
  readonly connection: Connection;
}

/** Opens a vault file so that no other process can open it. Throws `locked_by_other`. */
export async function openAlone(file: string): Promise<OpenedAlone> {
  const path = resolve(file);
  const found = checkOpenable(path);
  let connection: Connection | undefined;
  try {
    const opened = connect(await loadDriver(), path);
    connection = opened;
    await retryBusy(() => lock(opened), IN_USE_MS).catch(inUse(path));
    assertSameFile(path, found);
    // SQLite has removed the log, but does not sync the folder. After a power failure, the old log could return and
    // change the new file.
    await syncFolder(dirname(path));
    return { path, found, connection };
  } catch (error) {
    connection?.close();
    throw await fileFaultOf(path, error);
  }
}

/**
 * Writes the log into the file, removes the log, and locks the file against other processes until the connection
 * closes. A remaining log could be applied to the new file. The next opening turns the log on again.
 */
function lock(connection: Connection): void {
  connection.pragma('locking_mode = NORMAL');
  // This statement fails while another connection is open: each connection with a log holds a lock, even when idle.
  connection.pragma('journal_mode = DELETE');
  connection.pragma('locking_mode = EXCLUSIVE');
  connection.exec('BEGIN EXCLUSIVE; COMMIT');
  if (connection.pragma('journal_mode', { simple: true }) !== 'delete')
    throw new BusyError('the file was opened meanwhile');
}

function countRows(connection: Connection): ReadonlyMap<string, number> {
  const tables = connection.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  return new Map(tables.map((table) => [table, selectNumber(connection, `SELECT count(*) FROM "${table}"`)]));
}

async function assertSameRows(building: string, rows: ReadonlyMap<string, number>, path: string): Promise<void> {
  const copied = await withConnection(building, countRows);
  if (copied.size === rows.size && [...rows].every(([table, count]) => copied.get(table) === count)) return;
  throw new Fault('damaged', `no copy was made: the copy of ${path} lacks rows`);
}
