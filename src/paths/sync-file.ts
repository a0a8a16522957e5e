import { fsync } from 'node:fs';
import { promisify } from 'node:util';

const fsyncOf = promisify(fsync);

/**
 * Flushes an opened file to disk. Replaces `FileHandle.sync`, which throws "Method not implemented." under Yarn's
 * Plug'n'Play. Rejects with errors of the system.
 */
export function syncFile({ fd }: { readonly fd: number }): Promise<void> {
  return fsyncOf(fd);
}
