import { Fault, isError } from '../../../core/fault.ts';
import { type Connection, type Driver, loadDriver, openDatabase } from './driver.ts';

/**
 * How long SQLite itself waits for a lock, in milliseconds. Its waiting would stop the event loop, and with it reads
 * that need no lock. `retryBusy` and the group commit wait instead.
 */
const BUSY_TIMEOUT_MS = 0;

/** The settings of every connection: the pragma, the value to set, and the value that a later read must return. */
const PRAGMAS = [
  ['journal_mode', 'WAL', 'wal'],
  // better-sqlite3 runs a log at NORMAL by default, which loses acknowledged writes when the power fails.
  ['synchronous', 'FULL', 2],
  ['secure_delete', 'ON', 1],
  ['temp_store', 'MEMORY', 2],
  ['trusted_schema', 'OFF', 0],
  ['cell_size_check', 'ON', 1],
  ['foreign_keys', 'ON', 1],
  ['mmap_size', '0', 0],
] as const;

/**
 * Connects to the existing file at `path`, which is absolute. Reads nothing from it yet. Throws `file_unwritable` when
 * the driver cannot access the folder, and `binding_missing`.
 */
export function connect(Database: Driver, path: string): Connection {
  try {
    return openDatabase(Database, path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  } catch (cause) {
    // The driver checks the folder first and throws a TypeError if that fails.
    if (!isError(cause) || cause.name !== 'TypeError') throw cause;
    throw new Fault('file_unwritable', `the folder of ${path} cannot be read`, { cause });
  }
}

/** Connects to the existing file at `path`, runs `work`, and closes the connection. Rejects as `connect` does. */
export async function withConnection<T>(path: string, work: (connection: Connection) => T): Promise<Awaited<T>> {
  const connection = connect(await loadDriver(), path);
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

const SET_PRAGMAS = PRAGMAS.map(([name, value]) => `PRAGMA ${name} = ${value};`).join('');

/** Sets the pragmas and reads each back: SQLite may ignore a setting silently. Throws `file_unwritable`. */
export function setPragmas(connection: Connection): void {
  connection.exec(SET_PRAGMAS);
  for (const [name, value, answer] of PRAGMAS) {
    if (connection.pragma(name, { simple: true }) !== answer) {
      throw new Fault('file_unwritable', `the file rejects the setting ${name} = ${value}`, {
        hint: 'keep the vault on a local disk',
      });
    }
  }
}
