import { connect } from '../../src/store/sqlite/file/connect.ts';
import { type Connection, loadDriver } from '../../src/store/sqlite/file/driver.ts';

/** Alters a closed file without its key. */
export async function tamperFile(file: string, change: (connection: Connection) => void): Promise<void> {
  const connection = connect(await loadDriver(), file);
  try {
    change(connection);
  } finally {
    connection.close();
  }
}
