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
