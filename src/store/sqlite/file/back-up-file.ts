import { existsSync, lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { Fault } from '../../../core/fault.ts';
import { copyBytes } from '../../../paths/copy-bytes.ts';
import { ownerOfVaultFile } from '../../../paths/create-file.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { setPragmas, withConnection } from './connect.ts';
import type { Connection } from './driver.ts';
import { type Placing, placeFile } from './place-file.ts';
import { fileFaultOf } from './probe-disk.ts';
import { sqliteCode } from './sqlite-error.ts';

/** Matches the errors of the file that is read: damage and locks. All other errors concern the file that is written. */
const OF_THE_SOURCE = /^SQLITE_(CORRUPT|NOTADB|BUSY|IOERR_READ|IOERR_SHORT_READ)/;

/** Copies one consistent state of an open database to an empty file, without its free pages. */
export async function copyInto(connection: Connection, building: string): Promise<void> {
  try {
    await retryBusy(() => connection.prepare<[string]>('VACUUM INTO ?').run(building));
  } catch (error) {
    throw OF_THE_SOURCE.test(sqliteCode(error) ?? '') ? await fileFaultOf(connection.name, error) : error;
  }
}

/**
 * Writes one consistent state of the vault `file` to a new file of mode 0600, while this or another process reads and
 * writes it. `verify` checks the copy before it gets its name; if it throws, no copy remains. Never changes an existing
 * file.
 */
export async function backUpVaultFile(
  file: string,
  target: string,
  verify: (copy: string) => Promise<void>,
  placing?: Placing,
): Promise<void> {
  await withConnection(resolve(file), async (connection) => {
    await retryBusy(() => setPragmas(connection)).catch(async (error: unknown) => {
      throw await fileFaultOf(file, error);
    });
    const build = async (building: string) => {
      await copyInto(connection, building);
      await verify(building);
    };
    await placeFile(target, build, placing);
  });
}

/**
 * Copies a backup to a new vault file. `verify` checks the copy before it gets its name; if it throws, no copy remains.
 * Copies the backup's bytes: opening it with SQLite would leave a log beside it. Throws the faults `file_missing`,
 * `file_unsafe`, `file_exists`, `conflict` for a backup in use, and those of `placeFile`.
 */
export async function restoreVaultFile(
  backup: string,
  target: string,
  verify: (copy: string) => Promise<void>,
  {
    moveAside = false,
    copying = () => undefined,
  }: { readonly moveAside?: boolean; readonly copying?: ((bytes: number) => void) | undefined } = {},
): Promise<void> {
  const source = resolve(backup);
  const found = lstatSync(source, { throwIfNoEntry: false });
  if (found === undefined) throw new Fault('file_missing', `there is no file ${source}`, { hint: 'name a backup' });
  if (!found.isFile()) throw new Fault('file_unsafe', `${source} is not a regular file`);
  if (!moveAside && existsSync(target)) {
    throw new Fault('file_exists', `${target} exists`, {
      hint: 'pass --move-aside to rename it, together with its log',
    });
  }
  // The copy would lack the writes in the backup's log.
  if ((lstatSync(`${source}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    throw new Fault('conflict', `${source} is in use, or was not closed`, {
      hint: 'copy it with `vault backup`',
    });
  }
  await placeFile(
    target,
    async (building) => {
      copying(found.size);
      await copyBytes(source, building);
      await verify(building);
    },
    { moveAside, owner: ownerOfVaultFile(target) },
  );
}
