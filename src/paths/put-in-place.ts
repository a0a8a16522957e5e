import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import { errorCode } from '../core/fault.ts';
import { assertReplaceable } from './replaceable.ts';

/** The treatment of an existing file: `new` rejects and never changes it, `replace` replaces it. */
export type Placement = 'new' | 'replace';

/**
 * Error codes of file systems without hard links (FAT, exFAT, some network file systems), or without those of sockets.
 */
const NO_HARD_LINKS: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EINVAL']);

/**
 * Moves a finished file to its final name. For `replace`, renames it synchronously, so that no signal handler runs
 * before the caller continues. For `new`, links it, because a link, unlike a rename, never replaces a file that
 * appeared meanwhile. On file systems without hard links, creates a placeholder and renames the file over it. Rejects
 * with the fault of `assertReplaceable` and errors of the system.
 */
export async function putInPlace(temporary: string, path: string, placement: Placement): Promise<void> {
  if (placement === 'replace') {
    assertReplaceable(path);
    renameSync(temporary, path);
    return;
  }
  try {
    await link(temporary, path);
  } catch (error) {
    if (!NO_HARD_LINKS.has(errorCode(error))) throw error;
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
    try {
      renameSync(temporary, path);
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    }
    return;
  }
  await rm(temporary, { force: true });
}
