import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVaultFile } from '../../src/store/sqlite/file/create-vault-file.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import type { FileStore } from '../../src/store/sqlite/sqlite-store.ts';
import { openThreadedStore } from '../unit/store-sqlite-fixture.ts';
import { storeConformance } from './store.ts';
import { fileStoreConformance } from './store-file.ts';
import { HEADER } from './store-fixtures.ts';

async function openInFolder(open: (file: string) => Promise<FileStore>) {
  const folder = await mkdtemp(join(tmpdir(), 'vault-store-'));
  const file = join(folder, 'vault.db');
  await createVaultFile(file, HEADER);
  const store = await open(file);
  return {
    store,
    reopen: async () => (await openVaultFile(file)).store,
    dispose: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

const openSqlite = () => openInFolder(async (file) => (await openVaultFile(file)).store);

const openThreaded = () =>
  openInFolder(async (file) => {
    const { store } = await openThreadedStore(file);
    await store.startThread();
    return store;
  });

storeConformance('sqlite', openSqlite);
fileStoreConformance('sqlite', openSqlite);
storeConformance('sqlite, written by another thread', openThreaded);
fileStoreConformance('sqlite, written by another thread', openThreaded);
