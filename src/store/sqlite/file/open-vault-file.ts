import { type BigIntStats, lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { Fault } from '../../../core/fault.ts';
import type { VaultHeader } from '../../../core/ports.ts';
import { BUSY_DEADLINE_MS, retryBusy } from '../commit/busy-retry.ts';
import { Session } from '../commit/session.ts';
import type { FileStore } from '../sqlite-store.ts';
import { sqliteStore } from '../sqlite-store.ts';
import { assertOneName } from './assert-one-name.ts';
import { checkOpenable, identityOf, PathWatch } from './check-openable.ts';
import { connect, setPragmas } from './connect.ts';
import { type Connection, loadDriver } from './driver.ts';
import { readHeader } from './header-table.ts';
import { fileFaultOf } from './probe-disk.ts';
import { APPLICATION_ID, FILE_FORMAT, hasSchema } from './schema.ts';
import { sqliteCode } from './sqlite-error.ts';

export interface OpenedVaultFile {
  readonly header: VaultHeader;
  readonly store: FileStore;
  /** The session of the store, for the writer thread. Closed with the store. */
  readonly session: Session;
}

interface OpenOptions {
  /** How long this and later calls wait for another process's lock, in milliseconds. */
  readonly busyDeadlineMs?: number | undefined;
  /** Whether this process already has the file open. If so, only the new connection reads it. */
  readonly isOpenHere?: boolean | undefined;
}

/**
 * Opens the file of the vault at `path` without unlocking the vault. Throws the
 * faults `file_missing`, `file_unsafe`, `file_unwritable`, `not_a_vault`, `newer_format`, `damaged`, `locked_by_other`,
 * `no_space`, `binding_missing`.
 */
export async function openVaultFile(path: string, options: OpenOptions = {}): Promise<OpenedVaultFile> {
  const file = resolve(path);
  if (file !== file.trim()) throw new Fault('usage', 'the name of a vault must not end in white space');
  for (let openings = 1; ; openings += 1) {
    try {
      return await openFile(file, options);
    } catch (error) {
      // `vault compact` may have replaced the file. The next opening checks the new one.
      if (openings < MAX_OPENINGS && isReplaced(error)) continue;
      throw await fileFaultOf(file, error);
    }
  }
}

const MAX_OPENINGS = 3;

/** Opens the vault at `path` as `openVaultFile` does, runs `work`, and closes the file. */
export async function withVaultFile<T>(path: string, work: (opened: OpenedVaultFile) => Promise<T>): Promise<T> {
  const opened = await openVaultFile(path);
  try {
    return await work(opened);
  } finally {
    await opened.store.close();
  }
}

async function openFile(
  file: string,
  { busyDeadlineMs = BUSY_DEADLINE_MS, isOpenHere = false }: OpenOptions,
): Promise<OpenedVaultFile> {
  const checked = checkOpenable(file, { isOpenHere });
  if (!isOpenHere) await assertOneName(file, busyDeadlineMs);
  const connection = connect(await loadDriver(), file);
  try {
    await retryBusy(() => identify(connection, file), busyDeadlineMs);
    const header = await retryBusy(() => readVault(connection, file), busyDeadlineMs);
    assertSameFile(file, checked);
    const session = new Session(connection, new PathWatch(file, checked), busyDeadlineMs);
    return { header, store: sqliteStore(session), session };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Throws unless the file is a vault of this format. Call it before any pragma: setting the journal mode writes, and the
 * file may belong to another program.
 */
function identify(connection: Connection, file: string): void {
  if (connection.pragma('application_id', { simple: true }) !== APPLICATION_ID) {
    throw new Fault('not_a_vault', `${file} is not a vault`);
  }
  const version = connection.pragma('user_version', { simple: true });
  if (version === FILE_FORMAT) return;
  if (typeof version !== 'number' || version < FILE_FORMAT) {
    throw new Fault('damaged', `${file} has no valid format number`);
  }
  throw new Fault('newer_format', `${file} has format ${version}; this version reads ${FILE_FORMAT}`);
}

function readVault(connection: Connection, file: string): VaultHeader {
  setPragmas(connection);
  assertSchema(connection, file);
  const header = readHeader(connection);
  if (header === undefined) throw new Fault('damaged', `${file} has no header`);
  return header;
}

function assertSchema(connection: Connection, file: string): void {
  if (hasSchema(connection)) return;
  throw new Fault(
    'damaged',
    `the tables of ${file} are not those of a vault: altered, or created by an unreleased build`,
  );
}

/** Throws `file_unsafe` if the file was replaced between the check and the opening. */
export function assertSameFile(file: string, checked: BigIntStats): void {
  const now = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (now === undefined || identityOf(now) !== identityOf(checked)) throw new FileReplaced(file);
}

class FileReplaced extends Fault {
  constructor(file: string) {
    super('file_unsafe', `${file} was replaced while it was opened`, { hint: 'try again' });
  }
}

function isReplaced(error: unknown): boolean {
  return error instanceof FileReplaced || sqliteCode(error) === 'SQLITE_READONLY_DBMOVED';
}
