import type { FileStore, SignedFacts } from '../../../core/maintenance-ports.ts';
import { Problem } from '../../../core/problem.ts';
import { ownerOfVaultFile } from '../../../paths/create-file.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { auditRows } from '../tables/audit-rows.ts';
import { withConnection } from './connect.ts';
import type { Connection } from './driver.ts';
import { placeFile } from './place-file.ts';
import { FORMAT, SCHEMA } from './schema.ts';

/** "VLTS": the `application_id` of a snapshot, so that it is never opened as a vault. */
export const SNAPSHOT_APPLICATION_ID = 0x564c5453;

/**
 * The tables that a snapshot copies: the records, indexes and counters of each tenant. The rows are those of the vault.
 */
const TABLES = ['tenant', 'application', 'token', 'token_index', 'container_set', 'tombstone', 'counter'] as const;

/**
 * The tables of a snapshot: those of the vault without their indexes, which a load does not need, and one row of facts.
 * It has no header, no slot and no tenant key: only the vault's current keys open a snapshot. It has no audit either,
 * since the audit never goes back. The facts name the last audit entry at the time of saving.
 */
export const SNAPSHOT_SCHEMA: readonly string[] = [
  ...SCHEMA.filter((statement) => TABLES.some((table) => statement.startsWith(`CREATE TABLE ${table} (`))),
  `CREATE TABLE facts (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  vault_id TEXT NOT NULL,
  name TEXT NOT NULL,
  saved_at INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  link BLOB NOT NULL,
  mac BLOB NOT NULL
) STRICT`,
];

/** The settings of the new file, which no other process has open and which `placeFile` syncs. */
const SETTINGS = `PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;
  PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON`;

type Options = Parameters<FileStore['saveSnapshot']>[1];

/** Implements `FileStore.saveSnapshot` while others use the vault `file`. */
export async function saveSnapshot(file: string, target: string, { replace, sign }: Options): Promise<void> {
  const build = (building: string) =>
    withConnection(building, async (connection) => {
      connection.exec(SETTINGS);
      await retryBusy(() => connection.prepare<[string]>('ATTACH ? AS vault').run(file));
      await retryBusy(() => copy(connection, sign));
      connection.exec('DETACH vault');
    });
  await placeFile(target, build, { replace, owner: ownerOfVaultFile(target) });
}

/** Copies the attached vault in one transaction, which sees one state of it. */
function copy(connection: Connection, sign: Options['sign']): void {
  connection.transaction(() => {
    // Reads the vault first, so that a lock fails before anything is written.
    const head = auditRows(connection, 'vault').head();
    if (head.sequence === 0) throw new Problem('integrity_failure');
    for (const statement of SNAPSHOT_SCHEMA) connection.exec(statement);
    for (const table of TABLES) {
      // Omits the row of `counter` that belongs to the whole file: a load must not set it back.
      connection.exec(`INSERT INTO main.${table} SELECT * FROM vault.${table} WHERE tenant > 0`);
    }
    connection
      .prepare<[SignedFacts]>('INSERT INTO facts VALUES (1, @vault_id, @name, @saved_at, @sequence, @link, @mac)')
      .run(sign(head));
    connection.pragma(`application_id = ${SNAPSHOT_APPLICATION_ID}`);
    connection.pragma(`user_version = ${FORMAT}`);
  })();
}
