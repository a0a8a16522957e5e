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

/** Runs SQL on a closed file as if no table declared types. The schema is altered only meanwhile, so it passes each check. */
export function alterUntyped(file: string, sql: string): Promise<void> {
  return tamperFile(file, (connection) => {
    connection.unsafeMode(true);
    connection.exec('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON');
    const select = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%'";
    const tables = connection.prepare<[], { name: string; sql: string }>(select).all();
    const set = connection.prepare('UPDATE sqlite_schema SET sql = ? WHERE name = ?');
    const loose = (declared: string) =>
      declared
        .replaceAll(/ NOT NULL|(?<= )(TEXT|BLOB)\b/g, '')
        .replace(/\) STRICT, WITHOUT ROWID$|\) WITHOUT ROWID, STRICT$/, ') WITHOUT ROWID')
        .replace(/\) STRICT$/, ')');
    for (const { name, sql: declared } of tables) set.run(loose(declared), name);
    connection.exec('PRAGMA writable_schema = RESET');
    connection.exec(sql);
    connection.exec('PRAGMA writable_schema = ON');
    for (const { name, sql: declared } of tables) set.run(declared, name);
  });
}
