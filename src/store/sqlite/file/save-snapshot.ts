import type { FileStore } from '../../../core/maintenance-ports.ts';
import { Problem } from '../../../core/problem.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { auditRows } from '../tables/audit-rows.ts';
import { connect } from './connect.ts';
import { type Connection, loadDriver } from './driver.ts';
import { placeFile } from './place-file.ts';
import { FORMAT } from './schema.ts';
import { SNAPSHOT_APPLICATION_ID, SNAPSHOT_SCHEMA, SNAPSHOT_TABLES } from './snapshot-layout.ts';

/** The settings of the new file, which no other process has open and which `placeFile` syncs. */
const SETTINGS = `PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;
  PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON`;

type Options = Parameters<FileStore['saveSnapshot']>[1];

/** Implements `FileStore.saveSnapshot` while others use the vault `file`. */
export async function saveSnapshot(file: string, target: string, { replace, sign }: Options): Promise<void> {
  const Database = await loadDriver();
  await placeFile(
    target,
    async (building) => {
      const connection = connect(Database, building);
      try {
        connection.exec(SETTINGS);
        await retryBusy(() => connection.prepare<[string]>('ATTACH ? AS vault').run(file));
        await retryBusy(() => copy(connection, sign));
        connection.exec('DETACH vault');
      } finally {
        connection.close();
      }
    },
    { replace },
  );
}

/** Copies the attached vault in one transaction, which sees one state of it. */
function copy(connection: Connection, sign: Options['sign']): void {
  connection.exec('BEGIN');
  try {
    // Reads the vault first, so that a lock fails before anything is written.
    const head = auditRows(connection, 'vault').head();
    if (head.sequence === 0) throw new Problem('integrity_failure');
    for (const statement of SNAPSHOT_SCHEMA) connection.exec(statement);
    for (const table of SNAPSHOT_TABLES) {
      // Omits the row of `counter` that belongs to the whole file: a load must not set it back.
      connection.exec(`INSERT INTO main.${table} SELECT * FROM vault.${table} WHERE tenant > 0`);
    }
    const { vault_id, name, saved_at, sequence, link, mac } = sign(head);
    connection
      .prepare<[string, string, number, number, Uint8Array, Uint8Array]>(
        'INSERT INTO facts (one, vault_id, name, saved_at, sequence, link, mac) VALUES (1, ?, ?, ?, ?, ?, ?)',
      )
      .run(vault_id, name, saved_at, sequence, link, mac);
    connection.pragma(`application_id = ${SNAPSHOT_APPLICATION_ID}`);
    connection.pragma(`user_version = ${FORMAT}`);
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK');
    throw error;
  }
}
