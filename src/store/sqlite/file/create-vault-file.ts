import { NO_LINK } from '../../../core/audit/audit-link.ts';
import type { Store, VaultHeader } from '../../../core/ports.ts';
import { setPragmas, withConnection } from './connect.ts';
import type { Connection } from './driver.ts';
import { writeHeader } from './header-table.ts';
import { withVaultFile } from './open-vault-file.ts';
import { placeFile } from './place-file.ts';
import { APPLICATION_ID, FILE_FORMAT, SCHEMA } from './schema.ts';

/**
 * Creates a vault at `path` that contains `header` and the rows of `fill`. The file appears complete and with mode
 * 0600, or not at all. Never changes an existing file. Throws the faults `file_exists`, `file_unwritable`, `no_space`,
 * `binding_missing`.
 */
export async function createVaultFile(
  path: string,
  header: VaultHeader,
  fill?: (store: Store) => Promise<void>,
): Promise<void> {
  await placeFile(path, async (building) => {
    await withConnection(building, (connection) => {
      setPragmas(connection);
      createTables(connection, header);
      connection.pragma('wal_checkpoint(TRUNCATE)');
    });
    if (fill !== undefined) await withVaultFile(building, ({ store }) => fill(store));
  });
}

/** Turns the empty file of a connection into a vault without tenants. */
export function createTables(connection: Connection, header: VaultHeader): void {
  connection.transaction(() => {
    for (const statement of SCHEMA) connection.exec(statement);
    connection.prepare("INSERT INTO counter VALUES (0, 0, 0, 0, 0, 0, ?, '')").run(header.created_at);
    connection.prepare("INSERT INTO audit VALUES (0, 0, x'', ?)").run(NO_LINK);
    writeHeader(connection, header);
    connection.pragma(`application_id = ${APPLICATION_ID}`);
    connection.pragma(`user_version = ${FILE_FORMAT}`);
  })();
}
