import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import type { VaultHeader } from '../../src/core/ports.ts';
import { Session } from '../../src/store/sqlite/commit/session.ts';
import { threadedStore } from '../../src/store/sqlite/commit/threaded-store.ts';
import { PathWatch } from '../../src/store/sqlite/file/check-openable.ts';
import { connect, setPragmas } from '../../src/store/sqlite/file/connect.ts';
import { createVaultFile } from '../../src/store/sqlite/file/create-vault-file.ts';
import { type Connection, loadDriver } from '../../src/store/sqlite/file/driver.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import type { FileStore } from '../../src/store/sqlite/sqlite-store.ts';
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { startWriter } from '../../src/vault/writer.ts';
import { NOW, sealed } from '../conformance/store-fixtures.ts';
import { temporaryFolder as folderUntil } from '../temporary-folder.ts';

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

/** Creates a folder that is removed after the test. */
export const temporaryFolder = () => folderUntil(onTestFinished);

export async function temporaryVault(): Promise<string> {
  const file = join(temporaryFolder(), 'vault.db');
  await createVaultFile(file, HEADER);
  return file;
}

/** Opens a vault file and closes it after the test. */
export async function openStore(file: string): Promise<FileStore> {
  const { store } = await openVaultFile(file);
  onTestFinished(() => store.close());
  return store;
}

/** Opens a connection like that of another process. */
export async function rawConnection(file: string): Promise<Connection> {
  const connection = connect(await loadDriver(), file);
  onTestFinished(() => void connection.close());
  return connection;
}

/** Opens a store that gives up on locks early, together with its connection. */
export async function storeWithConnection(file: string, busyDeadlineMs: number) {
  const connection = connect(await loadDriver(), file);
  setPragmas(connection);
  const watch = new PathWatch(file, lstatSync(file, { bigint: true }));
  const store = sqliteStore(new Session(connection, watch, busyDeadlineMs));
  onTestFinished(() => store.close());
  return { store, connection };
}

/** Opens a store whose writer thread starts with `start`. The caller closes it. */
export async function openThreadedStore(file: string) {
  const { session } = await openVaultFile(file);
  const start = vi.fn(() => startWriter(session));
  return { store: threadedStore(session, start), session, start };
}
