import { dirname } from 'node:path';
import { Fault } from '../../../core/fault.ts';
import { copyBytes } from '../../../paths/copy-bytes.ts';
import { ownerOfVaultFile } from '../../../paths/create-file.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { copyInto } from './back-up-file.ts';
import { openAlone, replaceUnusedFile } from './compact-file.ts';
import { withConnection } from './connect.ts';
import { selectNumber } from './driver.ts';
import { readHeader } from './header-table.ts';
import { placeFile, removeDrafts } from './place-file.ts';
import { fileFaultOf } from './probe-disk.ts';

const LABEL = 'copy';

/**
 * Copies the whole vault `file` to `target`, a file of mode 0600 that appears complete and synced, or not at all. Other
 * processes cannot open the vault meanwhile. Throws the faults `locked_by_other` for a file that another process has
 * open, `file_exists`, `file_unwritable`, `no_space`, and those of `checkFile`.
 */
export async function copyUnusedFile(file: string, target: string, replace: boolean): Promise<void> {
  const { connection } = await openAlone(file);
  try {
    // The vault is locked, so no other process copies it. Drafts with this label belong to killed processes.
    await removeDrafts(dirname(target), { label: LABEL, minAgeMs: 0 });
    const placing = { replace, owner: ownerOfVaultFile(target), label: LABEL };
    await placeFile(target, (building) => copyInto(connection, building), placing);
  } finally {
    connection.close();
  }
}

/**
 * Replaces the vault `file` by the bytes of a copy, and keeps its mode and owner. `verify` checks the new file before it
 * gets its name, and gets the id of the vault that it replaces. If `verify` throws, the file stays as it is. Throws
 * `locked_by_other` and the faults of `checkFile`.
 */
export async function replaceByCopy(
  copy: string,
  file: string,
  verify: (building: string, vaultId: string | undefined) => Promise<void>,
): Promise<void> {
  await replaceUnusedFile(file, LABEL, async (building, connection) => {
    const vaultId = readHeader(connection)?.vault_id;
    await copyBytes(copy, building);
    await verify(building, vaultId);
  });
}

/** Counts the tokens in a copy of a vault, which it only reads. Throws the fault `damaged`. */
export async function countTokens(copy: string): Promise<number> {
  try {
    return await withConnection(copy, (connection) =>
      retryBusy(() => selectNumber(connection, 'SELECT count(*) FROM token')),
    );
  } catch (error) {
    const cause = await fileFaultOf(copy, error);
    if (!(cause instanceof Fault) || cause.code !== 'not_a_vault') throw cause;
    throw new Fault('damaged', `${copy} is damaged`, { cause });
  }
}
