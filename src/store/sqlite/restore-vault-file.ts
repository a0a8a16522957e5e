import { createReadStream, createWriteStream, lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Fault } from '../../core/fault.ts';
import { placeFile } from './place-file.ts';

/**
 * Copies a backup to a new vault file. `verify` is given the copy before it gets its name; when it throws there is none. The
 * backup is only read: opening it would leave a log beside it. Throws `file_missing`, `conflict` for a file that is in use,
 * and the faults of `placeFile`.
 */
export async function restoreVaultFile(
  backup: string,
  target: string,
  verify: (copy: string) => Promise<void>,
): Promise<void> {
  const source = resolve(backup);
  const found = lstatSync(source, { throwIfNoEntry: false });
  if (found === undefined) throw new Fault('file_missing', `there is no file ${source}`, { hint: 'name a backup' });
  if (!found.isFile()) throw new Fault('file_unsafe', `${source} is not a regular file`);
  // What stands in a log would be missing from the copy.
  if ((lstatSync(`${source}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    throw new Fault('conflict', `${source} is in use, or was not closed`, {
      hint: '`vault backup` copies such a file',
    });
  }
  await placeFile(target, async (building) => {
    await pipeline(createReadStream(source), createWriteStream(building, { flags: 'r+' }));
    await verify(building);
  });
}
