import { lstatSync } from 'node:fs';
import { Fault } from '../core/fault.ts';

/** The ends of the names of the files that SQLite keeps beside a vault while it is open, or after a crash. */
export const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

/**
 * Throws the fault `file_unsafe` for the name of a log, shared memory or journal of another file: SQLite overwrites or
 * removes whatever has that name when it opens the file. Every path that the product creates, replaces or appends to
 * passes this check. `flag` begins the message. Compares without case, as the file systems of macOS and Windows do.
 */
export function assertOwnName(path: string, flag?: string): void {
  const end = COMPANIONS.find((suffix) => path.toLowerCase().endsWith(suffix));
  if (end === undefined) return;
  const owner = path.slice(0, -end.length);
  if (lstatSync(owner, { throwIfNoEntry: false })?.isFile() !== true) return;
  throw new Fault(
    'file_unsafe',
    `${flag === undefined ? '' : `${flag}: `}${path} is the name of a file that SQLite keeps beside ${owner}`,
    {
      hint: 'name another file',
    },
  );
}
