import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../../../core/fault.ts';
import { syncFile } from '../../../paths/sync-file.ts';
import { withoutLocks } from './lock-probe.ts';
import { isFailedWrite, type Probe, toFileFault } from './sqlite-error.ts';

const PROBE_BYTES = 4096;

/**
 * Finds the cause of a failed write: writes 4 KiB beside the vault `file` and syncs them. Also makes them as long as
 * the longest file of the vault, which a limit of the file size (`ulimit -f`) refuses. Removes them. Resolves to the
 * error code of the system, or to `passed`.
 */
export async function probeDisk(file: string): Promise<Probe> {
  const name = `.${basename(file).slice(0, 64)}.${randomBytes(8).toString('hex')}.probe`;
  const path = join(dirname(file), name);
  // A static import of it, or of `promises` from node:fs, would make every command load it at its start.
  const { open, rm } = await import('node:fs/promises');
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'wx', 0o600);
    await handle.write(Buffer.alloc(PROBE_BYTES));
    await syncFile(handle);
    // Windows has no such limit, and would take the space.
    if (process.platform !== 'win32') await handle.truncate(longest(file) + PROBE_BYTES);
    return 'passed';
  } catch (error) {
    return errorCode(error) ?? 'unknown';
  } finally {
    await handle?.close().catch(() => undefined);
    await rm(path, { force: true }).catch(() => undefined);
  }
}

function longest(file: string): number {
  return Math.max(...['', '-wal'].map((suffix) => statSync(file + suffix, { throwIfNoEntry: false })?.size ?? 0));
}

/**
 * Resolves to the fault for an error of SQLite on the vault `file`; resolves to any other error unchanged. Probes the
 * disk after a failed write, and the locks of the file system after a refused lock.
 */
export async function fileFaultOf(file: string, error: unknown): Promise<unknown> {
  const probe = isFailedWrite(error) ? await probeDisk(file) : undefined;
  return toFileFault(file, await withoutLocks(file, error), probe);
}
