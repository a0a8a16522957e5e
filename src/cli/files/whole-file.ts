import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type FileHandle, lstat, rm } from 'node:fs/promises';
import { isBytes } from '../../core/bytes.ts';
import { errorCode, Fault } from '../../core/fault.ts';
import { atExit } from '../../paths/at-exit.ts';
import { createFile } from '../../paths/create-file.ts';
import { assertOwnName } from '../../paths/own-name.ts';
import { type Placement, putInPlace } from '../../paths/put-in-place.ts';
import { assertReplaceable } from '../../paths/replaceable.ts';
import { syncFile } from '../../paths/sync-file.ts';
import { noSpaceFor, reasonOf } from '../exit/error-reason.ts';
import { pathHint } from './typed-paths.ts';

export type Content = string | Uint8Array | AsyncIterable<string | Uint8Array>;

/**
 * Writes a file (0600). The file appears complete and synced, or not at all, even after a signal. Errors name `flag`.
 * Rejects with the faults `file_exists`, `file_unsafe`, `usage` and `no_space`, and with any error that `content`
 * throws.
 */
export async function writeWholeFile(
  flag: string,
  path: string,
  content: Content,
  placement: Placement = 'new',
): Promise<void> {
  const draft = await openDraft(flag, path, placement);
  try {
    const pieces = typeof content === 'string' || isBytes(content) ? [content] : content;
    for await (const piece of pieces) await draft.handle.writeFile(piece).catch(draft.fail);
    await syncFile(draft.handle).catch(draft.fail);
    await draft.handle.close();
    await putInPlace(draft.temporary, path, placement).catch(draft.fail);
    draft.keep();
  } catch (error) {
    await draft.discard();
    throw error;
  }
}

/**
 * Runs `work` and resolves to its result. Reserves disk space for a text of at most `bytes` bytes before, so that
 * neither a full disk nor an existing file can lose an API key, which the vault shows only once. `fill` writes the text
 * and renames the file to its final name; if that fails, the fault names the temporary file. Removes a file without a
 * text. Rejects as `writeWholeFile` does.
 */
export async function reserveFile<T>(
  flag: string,
  path: string,
  bytes: number,
  work: (fill: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const draft = await openDraft(flag, path, 'new');
  try {
    await draft.handle.writeFile(' '.repeat(bytes));
    await syncFile(draft.handle);
  } catch (error) {
    await draft.discard();
    draft.fail(error);
  }
  let holdsText = false;
  try {
    return await work(async (text) => {
      await overwrite(draft.handle, Buffer.from(text));
      holdsText = true;
      draft.keep();
      await putInPlace(draft.temporary, path, 'new').catch((cause: unknown) => {
        const where = `${path} cannot be created; its contents are in ${draft.temporary}`;
        throw new Fault('file_exists', `${flag}: ${where}`, { cause });
      });
    });
  } finally {
    if (!holdsText) await draft.discard();
  }
}

/** Overwrites the reserved blocks in place, so that the text fits even if the disk has filled up. */
async function overwrite(handle: FileHandle, content: Uint8Array): Promise<void> {
  for (let at = 0; at < content.length; ) at += (await handle.write(content, at, content.length - at, at)).bytesWritten;
  await handle.truncate(content.length);
  await syncFile(handle);
  await handle.close();
}

/** Creates a file under a temporary name. The process removes it on exit. */
async function openDraft(flag: string, path: string, placement: Placement) {
  assertOwnName(path, flag);
  if (placement === 'replace') assertReplaceable(path, flag);
  else if ((await lstat(path).catch(() => undefined)) !== undefined) {
    throw new Fault('file_exists', `${flag}: ${path} exists`);
  }
  const fail = (error: unknown): never => {
    throw cannotMake(flag, path, error);
  };
  // A PID would not do: processes in containers have equal PIDs, and a killed one may have left its draft.
  const temporary = `${path}.${randomUUID()}.tmp`;
  // A signal may end the process before `open` has resolved.
  /** Keeps the file when the process exits. */
  const keep = atExit(() => rmSync(temporary, { force: true }));
  const handle = await createFile(temporary).catch((error: unknown) => {
    keep();
    return fail(error);
  });
  const discard = async () => {
    await handle.close().catch(() => undefined);
    await rm(temporary, { force: true });
    keep();
  };
  return { temporary, handle, fail, keep, discard };
}

/** Returns the fault for a file that could not be created. The fault names the flag and the path. */
export function cannotMake(flag: string, path: string, error: unknown): Fault {
  if (error instanceof Fault) return error;
  const code = errorCode(error);
  // Only Windows reports this for a file that another process has open.
  if (code === 'EBUSY' && process.platform !== 'win32') {
    const hint = 'mount the folder of the file, not the file, or name another file';
    return new Fault('file_unsafe', `${flag}: ${path} is a mount point`, { hint, cause: error });
  }
  if (code === 'EEXIST') return new Fault('file_exists', `${flag}: ${path} exists`, { cause: error });
  const usage = { hint: pathHint(error) ?? 'create its folder, or make the folder writable', cause: error };
  return (
    noSpaceFor(flag, path, error) ??
    new Fault('usage', `${flag}: ${path} cannot be created (${reasonOf(error)})`, usage)
  );
}
