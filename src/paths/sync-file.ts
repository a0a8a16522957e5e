import { fsync } from 'node:fs';

/**
 * Flushes an opened file to disk. Replaces `FileHandle.sync`, which throws "Method not implemented." under Yarn's
 * Plug'n'Play. Rejects with errors of the system.
 */
export function syncFile({ fd }: { readonly fd: number }): Promise<void> {
  return new Promise((resolve, reject) => fsync(fd, (error) => (error === null ? resolve() : reject(error))));
}
