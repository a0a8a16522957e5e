import { loadDriver } from './driver.ts';

/** The version of SQLite that vaults are kept by. Throws the fault `binding_missing`. */
export async function sqliteVersion(): Promise<string> {
  const Database = await loadDriver();
  const connection = new Database(':memory:');
  try {
    return String(connection.prepare('SELECT sqlite_version()').pluck().get());
  } finally {
    connection.close();
  }
}
