import { lstatSync, readFileSync, writeFileSync } from 'node:fs';
import type { VaultHeader } from '../src/core/ports.ts';
import { Session } from '../src/store/sqlite/commit/session.ts';
import { PathWatch } from '../src/store/sqlite/file/check-openable.ts';
import { connect, setPragmas } from '../src/store/sqlite/file/connect.ts';
import { createVaultFile } from '../src/store/sqlite/file/create-vault-file.ts';
import { loadDriver } from '../src/store/sqlite/file/driver.ts';
import { writeHeader } from '../src/store/sqlite/file/header-table.ts';
import type { FileStore } from '../src/store/sqlite/sqlite-store.ts';
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import { HEADER } from './conformance/store-fixtures.ts';

/** The bytes of a vault file without tenants. */
let empty: Buffer | undefined;

/**
 * Creates a vault file and opens its store. Copies the file that the first call created, with another header, because
 * creating the tables takes longer than most tests.
 */
export async function createStore(file: string, header: VaultHeader = HEADER): Promise<FileStore> {
  if (empty === undefined) {
    await createVaultFile(file, HEADER);
    empty = readFileSync(file);
  } else writeFileSync(file, empty, { mode: 0o600, flag: 'wx' });
  const connection = connect(await loadDriver(), file);
  setPragmas(connection);
  if (header !== HEADER) connection.transaction(() => writeHeader(connection, header))();
  return sqliteStore(new Session(connection, new PathWatch(file, lstatSync(file, { bigint: true }))));
}
