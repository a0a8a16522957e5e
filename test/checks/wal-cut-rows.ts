import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../src/store/sqlite/file/connect.ts';
import { type Connection, type Driver, loadDriver } from '../../src/store/sqlite/file/driver.ts';

/** What SQLite reads of a database whose log is cut. */
export interface CutRows {
  /** All rows of all tables, as one text. `length` must not be above that of the call before. */
  at(length: number): string;
}

/**
 * One copy, whose log is cut further and further: it is opened anew at each length, and only for reading, so that nothing
 * of the log is copied into the database when it is closed.
 */
export async function createCutRows(folder: string, database: Buffer, log: Buffer): Promise<CutRows> {
  const Database = await loadDriver();
  const file = join(folder, 'rows.db');
  writeFileSync(file, database, { mode: 0o600 });
  writeFileSync(`${file}-wal`, log, { mode: 0o600 });
  const everything = read(Database, file, queryOfAll);
  return {
    at(length) {
      truncateSync(`${file}-wal`, length);
      return read(Database, file, (connection) => connection.prepare<[], string>(everything).pluck().get() ?? '');
    },
  };
}

function read(Database: Driver, file: string, what: (connection: Connection) => string): string {
  const connection = new Database(file, { readonly: true, fileMustExist: true });
  try {
    return what(connection);
  } finally {
    connection.close();
  }
}

/** A query of one value, in which stands every column of every row. */
function queryOfAll(connection: Connection): string {
  const tables = connection.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  const texts = tables.map((table) => {
    const columns = connection.prepare<[], string>(`SELECT name FROM pragma_table_info('${table}')`).pluck().all();
    const row = columns.map((column) => `quote("${column}")`).join(" || ',' || ");
    return `coalesce((SELECT group_concat(${row}, ';') FROM "${table}"), '')`;
  });
  return `SELECT ${texts.join(" || '/' || ")}`;
}

/** The smallest that there is. */
const PAGE_BYTES = 512;

/** Lays a closed vault out in small pages: its log is shorter then, and what is in it is the same. */
export async function makePagesSmall(file: string): Promise<void> {
  const connection = connect(await loadDriver(), file);
  try {
    // The page size of a database that has a log cannot be changed.
    connection.pragma('journal_mode = DELETE');
    connection.pragma(`page_size = ${PAGE_BYTES}`);
    connection.exec('VACUUM');
    connection.pragma('journal_mode = WAL');
    if (connection.pragma('page_size', { simple: true }) !== PAGE_BYTES) throw new Error('the pages are as they were');
  } finally {
    connection.close();
  }
}
