import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, link, lstat, open, rm } from 'node:fs/promises';
import { Fault } from '../core/fault.ts';
import { errorCode, noSpaceFor } from './error-code.ts';

/** The treatment of an existing file: `new` rejects and never changes it, `replace` replaces it. */
export type Placement = 'new' | 'replace';

export type Content = string | Uint8Array | AsyncIterable<string | Uint8Array>;

/**
 * Writes a file (0600). The file appears complete and synced, or not at all, even after a signal. Errors name `flag`.
 * Rejects with the faults `file_exists`, `usage` and `no_space`, and with any error that `content` throws.
 */
export async function writeWholeFile(
  flag: string,
  path: string,
  content: Content,
  placement: Placement = 'new',
): Promise<void> {
  const draft = await openDraft(flag, path, placement);
  try {
    const pieces = typeof content === 'string' || content instanceof Uint8Array ? [content] : content;
    for await (const piece of pieces) await draft.handle.writeFile(piece).catch(draft.fail);
    await draft.handle.sync().catch(draft.fail);
    await draft.handle.close();
    await putInPlace(draft.temporary, path, placement).catch(draft.fail);
    draft.keep();
  } catch (error) {
    await draft.discard();
    throw error;
  }
}

/**
 * Reserves disk space for a text of at most `bytes` bytes before the text exists, so that neither a full disk nor an
 * existing file can lose an API key, which the vault shows only once. The file has a temporary name until `fill`
 * resolves. Rejects as `writeWholeFile` does.
 */
export async function reserveFile(flag: string, path: string, bytes: number) {
  const draft = await openDraft(flag, path, 'new');
  try {
    await draft.handle.writeFile(' '.repeat(bytes));
    await draft.handle.sync();
  } catch (error) {
    await draft.discard();
    draft.fail(error);
  }
  let holdsText = false;
  return {
    /** Writes the text and renames the file to its final name. If that fails, the fault names the temporary file. */
    async fill(text: string): Promise<void> {
      await overwrite(draft.handle, Buffer.from(text));
      holdsText = true;
      draft.keep();
      await putInPlace(draft.temporary, path, 'new').catch((cause: unknown) => {
        const where = `${path} cannot be created; its contents are in ${draft.temporary}`;
        throw new Fault('file_exists', `${flag}: ${where}`, { cause });
      });
    },
    /** Removes the file, unless `fill` wrote its text. */
    async discard(): Promise<void> {
      if (!holdsText) await draft.discard();
    },
  };
}

/** Overwrites the reserved blocks in place, so that the text fits even if the disk has filled up. */
async function overwrite(handle: FileHandle, content: Uint8Array): Promise<void> {
  for (let at = 0; at < content.length; ) at += (await handle.write(content, at, content.length - at, at)).bytesWritten;
  await handle.truncate(content.length);
  await handle.sync();
  await handle.close();
}

/** Creates a file under a temporary name. The process removes it on exit. */
async function openDraft(flag: string, path: string, placement: Placement) {
  if (placement === 'new' && (await lstat(path).catch(() => undefined)) !== undefined) {
    throw new Fault('file_exists', `${flag}: ${path} exists`);
  }
  const fail = (error: unknown): never => {
    throw cannotMake(flag, path, error);
  };
  // A PID would not do: processes in containers have equal PIDs, and a killed one may have left its draft.
  const temporary = `${path}.${randomUUID()}.tmp`;
  const remove = () => {
    try {
      rmSync(temporary, { force: true });
    } catch {
      // Windows does not remove open files. An error here would replace the exit code.
    }
  };
  // A signal may end the process before `open` has resolved.
  process.on('exit', remove);
  /** Keeps the file when the process exits. */
  const keep = () => process.off('exit', remove);
  const handle = await open(temporary, 'wx', 0o600).catch((error: unknown) => {
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

/** Error codes of file systems without hard links: FAT, exFAT, some network file systems. */
const NO_HARD_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Moves a file to its final name. For `replace`, renames it synchronously, so that no signal handler runs before the
 * caller continues. For `new`, links it, because a link, unlike a rename, never replaces a file that appeared
 * meanwhile. On file systems without hard links, creates a placeholder and renames the file over it.
 */
export async function putInPlace(temporary: string, path: string, placement: Placement): Promise<void> {
  if (placement === 'replace') {
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
  await rm(temporary);
}

/** Returns the fault for a file that could not be created. The fault names the flag and the path. */
export function cannotMake(flag: string, path: string, error: unknown): Fault {
  const code = errorCode(error);
  if (code === 'EEXIST') return new Fault('file_exists', `${flag}: ${path} exists`, { cause: error });
  const usage = { hint: 'create its folder, or make the folder writable', cause: error };
  return noSpaceFor(flag, path, error) ?? new Fault('usage', `${flag}: ${path} cannot be created (${code})`, usage);
}
