import { closeSync, constants, createReadStream, createWriteStream, fstatSync, openSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Fault } from '../core/fault.ts';

const NO_FOLLOW = (constants.O_NOFOLLOW as number | undefined) ?? 0;
const NO_WAIT = (constants.O_NONBLOCK as number | undefined) ?? 0;

/**
 * Copies the bytes of a regular file into an existing one. Follows no link: after the names were checked, the owner of
 * a folder could put a link to a file of root there. Rejects with the fault `file_unsafe` for another kind of file, and
 * with errors of the system.
 */
export async function copyBytes(source: string, target: string): Promise<void> {
  const from = openRegular(source, constants.O_RDONLY);
  let to: number;
  try {
    to = openRegular(target, constants.O_WRONLY);
  } catch (error) {
    closeSync(from);
    throw error;
  }
  // Each stream closes its file.
  await pipeline(createReadStream('', { fd: from }), createWriteStream('', { fd: to }));
}

function openRegular(path: string, access: number): number {
  const file = openSync(path, access | NO_FOLLOW | NO_WAIT);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Fault('file_unsafe', `${path} is not a regular file`);
}
