import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../src/store/sqlite/file/connect.ts';
import { type Connection, type Driver, loadDriver } from '../../src/store/sqlite/file/driver.ts';

/** Reads a database whose log is cut. */
export interface CutRows {
  /** Returns the result of the query, by default all rows of all tables as one text. `length` must not exceed that of the previous call. */
  at(length: number): string;
}

/**
 * Creates a copy whose log is cut shorter and shorter. Each read opens the copy read-only, so that closing it copies
 * nothing from the log into the database.
 */
export async function createCutRows(
  folder: string,
  { database, log }: { readonly database: Buffer; readonly log: Buffer },
  query?: string,
): Promise<CutRows> {
  const Database = await loadDriver();
  const file = join(folder, 'rows.db');
  writeFileSync(file, database, { mode: 0o600 });
  writeFileSync(`${file}-wal`, log, { mode: 0o600 });
  const asked = query ?? read(Database, file, queryOfAll);
  return {
    at(length) {
      truncateSync(`${file}-wal`, length);
      return read(Database, file, (connection) => String(connection.prepare<[]>(asked).pluck().get()));
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

/** Returns a query for one text with every column of every row. */
function queryOfAll(connection: Connection): string {
  const tables = connection.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  const texts = tables.map((table) => {
    const columns = connection.prepare<[], string>(`SELECT name FROM pragma_table_info('${table}')`).pluck().all();
    const row = columns.map((column) => `quote("${column}")`).join(" || ',' || ");
    return `coalesce((SELECT group_concat(${row}, ';') FROM "${table}"), '')`;
  });
  return `SELECT ${texts.join(" || '/' || ")}`;
}

/** The smallest page size of SQLite. */
const PAGE_BYTES = 512;

/** Rewrites a closed vault with small pages. Its log is then shorter, with the same content. */
export async function makePagesSmall(file: string): Promise<void> {
  const connection = connect(await loadDriver(), file);
  try {
    // SQLite cannot change the page size of a database in WAL mode.
    connection.pragma('journal_mode = DELETE');
    connection.pragma(`page_size = ${PAGE_BYTES}`);
    connection.exec('VACUUM');
    connection.pragma('journal_mode = WAL');
    if (connection.pragma('page_size', { simple: true }) !== PAGE_BYTES) throw new Error('the pages are as they were');
  } finally {
    connection.close();
  }
}
