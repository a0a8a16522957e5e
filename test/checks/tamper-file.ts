import { connect } from '../../src/store/sqlite/file/connect.ts';
import { type Connection, loadDriver } from '../../src/store/sqlite/file/driver.ts';

/** Alters or reads a closed file without its key. Resolves to the result of `work`. */
export async function tamperFile<T>(file: string, work: (connection: Connection) => T): Promise<T> {
  const connection = connect(await loadDriver(), file);
  try {
    return work(connection);
  } finally {
    connection.close();
  }
}

/** Resolves to the only column of a query on a file that a vault may have open. */
export async function readColumn(
  file: string,
  sql: string,
  ...values: readonly unknown[]
): Promise<readonly unknown[]> {
  const Database = await loadDriver();
  const connection = new Database(file, { fileMustExist: true, readonly: true });
  try {
    return connection
      .prepare<unknown[]>(sql)
      .pluck()
      .all(...values);
  } finally {
    connection.close();
  }
}
