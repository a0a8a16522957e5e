import type { AuditHead } from '../../core/audit-ports.ts';
import { Problem } from '../../core/problem.ts';
import { auditRows } from './audit-rows.ts';
import { retryBusy } from './busy-retry.ts';
import { connect } from './connect.ts';
import { type Connection, loadDriver } from './driver.ts';
import { placeFile } from './place-file.ts';
import { FORMAT } from './schema.ts';
import { type SignedFacts, SNAPSHOT_APPLICATION_ID, SNAPSHOT_SCHEMA, SNAPSHOT_TABLES } from './snapshot-layout.ts';

export interface SaveSnapshotOptions {
  /** Absolute. */
  readonly file: string;
  readonly target: string;
  /** An older snapshot at `target` gives way when the new one is whole; otherwise it is never touched. */
  readonly replace: boolean;
  /** Told where the audit had come to; answers what the snapshot says of itself. */
  readonly sign: (head: AuditHead) => SignedFacts;
}

/**
 * Copies the records of a vault that others may be using, of one moment, to a new file of mode 0600. It appears whole and on
 * the disk, or not at all. Throws the faults of `placeFile`, and `vault_busy`.
 */
export async function saveSnapshot({ file, target, replace, sign }: SaveSnapshotOptions): Promise<void> {
  const Database = await loadDriver();
  await placeFile(
    target,
    async (building) => {
      const connection = connect(Database, building);
      try {
        // Nobody else has this file yet, and `placeFile` brings it to the disk.
        for (const setting of [
          'journal_mode = MEMORY',
          'synchronous = OFF',
          'temp_store = MEMORY',
          'trusted_schema = OFF',
        ]) {
          connection.pragma(setting);
        }
        connection.pragma('cell_size_check = ON');
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

/** One transaction: it sees one state of the vault. */
function copy(connection: Connection, sign: SaveSnapshotOptions['sign']): void {
  connection.exec('BEGIN');
  try {
    // Reads the vault first: a lock that is in the way is met before anything is written.
    const head = auditRows(connection, 'vault').head();
    if (head.sequence === 0) throw new Problem('integrity_failure');
    for (const statement of SNAPSHOT_SCHEMA) connection.exec(statement);
    for (const table of SNAPSHOT_TABLES) connection.exec(`INSERT INTO main.${table} SELECT * FROM vault.${table}`);
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
