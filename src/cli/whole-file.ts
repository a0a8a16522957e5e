import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, link, lstat, open, rm } from 'node:fs/promises';
import { Fault } from '../core/fault.ts';
import { errorCode } from './error-code.ts';
import { noSpaceFor } from './full-disk.ts';

/** `new` never touches an existing file. `replace` takes its place. */
export type Placement = 'new' | 'replace';

export type Content = string | Uint8Array | AsyncIterable<string | Uint8Array>;

/**
 * Writes a file of mode 0600. It appears whole and on the disk, or not at all; a signal leaves nothing. `flag` is named in
 * messages. Rejects with the faults `file_exists`, `usage` and `no_space`, and with what `content` throws.
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

/** A new file for what is shown once, under a temporary name until its text is in it. */
export interface ReservedFile {
  /** Puts the text into the file, and the file in its place. When that fails, the fault says where the text is. */
  fill(text: string): Promise<void>;
  /** Removes the file, unless it holds its text. */
  discard(): Promise<void>;
}

/**
 * Takes a place on the disk for a text of at most `bytes`, before the text exists: an API key must not be lost to a full disk
 * or an existing file. Rejects as `writeWholeFile` does.
 */
export async function reserveFile(flag: string, path: string, bytes: number): Promise<ReservedFile> {
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
    async fill(text) {
      await overwrite(draft.handle, Buffer.from(text));
      holdsText = true;
      draft.keep();
      await putInPlace(draft.temporary, path, 'new').catch((cause: unknown) => {
        const where = `${path} cannot be made; what was to be in it is in ${draft.temporary}`;
        throw new Fault('file_exists', `${flag}: ${where}`, { cause });
      });
    },
    async discard() {
      if (!holdsText) await draft.discard();
    },
  };
}

/** Keeps the blocks that the file has: a disk that is full by now does not lose the text. */
async function overwrite(handle: FileHandle, content: Uint8Array): Promise<void> {
  for (let at = 0; at < content.length; ) at += (await handle.write(content, at, content.length - at, at)).bytesWritten;
  await handle.truncate(content.length);
  await handle.sync();
  await handle.close();
}

/** A file without its name yet, removed when the process exits. */
interface Draft {
  readonly temporary: string;
  readonly handle: FileHandle;
  readonly fail: (error: unknown) => never;
  /** Lets the file outlive the process. */
  readonly keep: () => void;
  readonly discard: () => Promise<void>;
}

async function openDraft(flag: string, path: string, placement: Placement): Promise<Draft> {
  if (placement === 'new' && (await lstat(path).catch(() => undefined)) !== undefined) {
    throw new Fault('file_exists', `${flag}: ${path} exists`);
  }
  const fail = (error: unknown): never => {
    throw cannotMake(flag, path, error);
  };
  // In a container every daemon may have the same PID: one must not fail over the draft that a killed one left.
  const temporary = `${path}.${placement === 'new' ? process.pid : randomUUID()}.tmp`;
  const handle = await open(temporary, 'wx', 0o600).catch(fail);
  const remove = () => {
    try {
      rmSync(temporary, { force: true });
    } catch {
      // Windows keeps open files. An error here would replace the exit code.
    }
  };
  process.on('exit', remove);
  const keep = () => process.off('exit', remove);
  const discard = async () => {
    await handle.close().catch(() => undefined);
    await rm(temporary, { force: true });
    keep();
  };
  return { temporary, handle, fail, keep, discard };
}

/** The codes of a file system without hard links: FAT and exFAT of sticks and cards, some network file systems. */
const NO_HARD_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Gives a file its name. Renames synchronously, so that no signal comes between the new name and the caller. A link, unlike
 * a rename, never replaces a file that appeared in the meantime; without links, a placeholder of our own is replaced.
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

/** Translates a system error of making a file into a fault that names the flag and the path. */
export function cannotMake(flag: string, path: string, error: unknown): Fault {
  const code = errorCode(error);
  if (code === 'EEXIST') return new Fault('file_exists', `${flag}: ${path} exists`, { cause: error });
  const usage = { hint: 'its folder must be there, and writable', cause: error };
  return noSpaceFor(flag, path, error) ?? new Fault('usage', `${flag}: ${path} cannot be made (${code})`, usage);
}
