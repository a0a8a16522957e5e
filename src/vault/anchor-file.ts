import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { diskHint } from '../contract/faults.ts';
import { errorCode, Fault } from '../core/fault.ts';
import { createFile, ownerOfVaultFile } from '../paths/create-file.ts';
import { putInPlace } from '../paths/put-in-place.ts';
import { assertReplaceable, readReplaceable } from '../paths/replaceable.ts';
import { syncFile } from '../paths/sync-file.ts';
import { NO_SPACE_CODES, tooManyFiles } from '../store/sqlite/file/sqlite-error.ts';

/** Returns the text of an anchor, or undefined before the first one. Throws the faults `file_unwritable` and `file_unsafe`. */
export function readAnchorFile(path: string): string | undefined {
  try {
    return readReplaceable(path, '--anchor')?.toString('utf8');
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw (
      tooManyFiles(path, cause) ??
      new Fault('file_unwritable', `the anchor ${path} cannot be read`, { cause, hint: HINT })
    );
  }
}

/** Replaces the text of an anchor. Rejects as `readAnchorFile` throws, and with the fault `no_space`. */
export async function writeAnchorFile(path: string, text: string): Promise<void> {
  assertReplaceable(path, '--anchor');
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`;
  try {
    const handle = await createFile(temporary, ownerOfVaultFile(path));
    try {
      await handle.writeFile(text);
      await syncFile(handle);
    } finally {
      await handle.close();
    }
    await putInPlace(temporary, path, 'replace');
  } catch (cause) {
    await rm(temporary, { force: true });
    if (cause instanceof Fault) throw cause;
    if (NO_SPACE_CODES.has(errorCode(cause) ?? '')) {
      throw new Fault('no_space', `there is no space left for the anchor ${path}`, {
        hint: diskHint(errorCode(cause)),
        cause,
      });
    }
    throw (
      tooManyFiles(path, cause) ??
      new Fault('file_unwritable', `the anchor ${path} cannot be written`, { cause, hint: HINT })
    );
  }
}

const HINT = 'put the --anchor (VAULT_ANCHOR) file into a folder of your own, away from the vault';
