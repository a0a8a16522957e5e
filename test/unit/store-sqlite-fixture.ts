import { lstatSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { VaultHeader } from '../../src/core/ports.ts';
import { connect, setPragmas } from '../../src/store/sqlite/connect.ts';
import { createVaultFile } from '../../src/store/sqlite/create-vault-file.ts';
import { type Connection, loadDriver } from '../../src/store/sqlite/driver.ts';
import { openVaultFile } from '../../src/store/sqlite/open-vault-file.ts';
import { PathWatch } from '../../src/store/sqlite/path-watch.ts';
import { Session } from '../../src/store/sqlite/session.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { NOW, sealed } from '../conformance/store-fixtures.ts';

export const HEADER: VaultHeader = {
  vault_id: '00000000-0000-7000-8000-0000000000ff',
  format: 1,
  created_at: NOW,
  generation: 1,
  slots: [
    { slot: 0, bytes: sealed('slot 0', 100) },
    { slot: 5, bytes: sealed('slot 5', 120) },
  ],
  mac: sealed('mac', 32),
};

/** A folder that is gone after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vault-sqlite-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function temporaryVault(): Promise<string> {
  const file = join(await temporaryFolder(), 'vault.db');
  await createVaultFile(file, HEADER);
  return file;
}

/** An opened vault file that is closed after the test. */
export async function openStore(file: string): Promise<SqliteStore> {
  const { store } = await openVaultFile(file);
  onTestFinished(() => store.close());
  return store;
}

/** A connection as another process would have one. */
export async function rawConnection(file: string): Promise<Connection> {
  const connection = connect(await loadDriver(), file);
  onTestFinished(() => void connection.close());
  return connection;
}

/** A store whose connection the test can reach, and that gives up on locks soon. */
export async function storeWithConnection(file: string, busyDeadlineMs: number) {
  const connection = connect(await loadDriver(), file);
  setPragmas(connection);
  const watch = new PathWatch(file, lstatSync(file, { bigint: true }));
  const store = new SqliteStore(new Session(connection, watch, busyDeadlineMs));
  onTestFinished(() => store.close());
  return { store, connection };
}
