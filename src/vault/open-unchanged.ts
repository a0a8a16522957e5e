import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FileStore } from '../core/maintenance-ports.ts';
import { describeFormat } from '../maintenance/check-file.ts';
import { atExit } from '../paths/at-exit.ts';
import type { Layout } from '../store/sqlite/file/schema.ts';
import type { FileHolderOptions } from './key-holder.ts';

interface UnchangedOptions extends Pick<FileHolderOptions, 'file' | 'isOpenHere'> {
  /** The format to open the file for. Default: the current one. */
  readonly layout?: Layout;
  /** Creates the temporary folder for a migrated copy. Default: one that a killed process leaves behind. */
  readonly makeFolder?: (() => string) | undefined;
}

const newFolder = () => mkdtempSync(path.join(tmpdir(), 'token-vault-doctor-'));

/** Opens a vault file of the current format. Opens a migrated copy of an older file, and leaves the file unchanged. */
export async function openUnchanged({ file, isOpenHere, makeFolder = newFolder, ...options }: UnchangedOptions) {
  const [{ openVaultFile, readFormat }, { CURRENT_LAYOUT }] = await Promise.all([
    import('../store/sqlite/file/open-vault-file.ts'),
    import('../store/sqlite/file/schema.ts'),
  ]);
  const { layout = CURRENT_LAYOUT } = options;
  const found = await readFormat(file, { isOpenHere, layout });
  const known = { first: Math.min(...Object.keys(layout.migrations).map(Number), layout.format), last: layout.format };
  const backup = `${path.basename(file)}.v${found}.backup`;
  const format = describeFormat(found, known, `the next command migrates the file, and keeps ${backup}`);
  if (found === layout.format) return { ...(await openVaultFile(file, { isOpenHere, layout })), format };
  const { backUpVaultFile } = await import('../store/sqlite/file/back-up-file.ts');
  const folder = makeFolder();
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const keep = atExit(remove);
  const close = (store?: FileStore) => async () => {
    await store?.close();
    keep();
    remove();
  };
  try {
    const copy = path.join(folder, path.basename(file));
    await backUpVaultFile(file, copy, async () => undefined);
    const { header, store } = await openVaultFile(copy, { layout });
    return { header, store: { ...store, close: close(store) }, format };
  } catch (error) {
    await close()();
    throw error;
  }
}
