import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { VaultHeader } from '../src/core/ports.ts';
import type { FileStore } from '../src/store/sqlite/sqlite-store.ts';
import { createStore } from './create-store.ts';
import { type AtEnd, temporaryFolder } from './temporary-folder.ts';

/** Opens a new store on a file of its own. Closes it and removes the file after the test. */
export async function openTestStore(header?: VaultHeader, atEnd: AtEnd = onTestFinished): Promise<FileStore> {
  const store = await createStore(path.join(temporaryFolder(atEnd), 'vault.db'), header);
  atEnd(() => store.close());
  return store;
}
