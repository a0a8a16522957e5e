import { closeSync, openSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Fault } from '../core/fault.ts';
import { errorCode } from './error-code.ts';
import { noSpaceFor } from './full-disk.ts';
import { isNamedPipe, readNamed } from './named-input.ts';

/** No key, passphrase or chain of certificates is longer. A device must not fill the memory. */
const LONGEST_KIB = 1024;

/** The bytes of a file that a flag names. */
export async function readSecretFile(flag: string, path: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    const most = LONGEST_KIB * 1024 + 1;
    bytes = isNamedPipe(path) ? await readPipe(path, most) : readStart(path, most);
  } catch (error) {
    throw new Fault('usage', `${flag}: ${path} cannot be read (${errorCode(error)})`, { cause: error });
  }
  if (bytes.length <= LONGEST_KIB * 1024) return bytes;
  throw new Fault('usage', `${flag}: ${path} is longer than ${LONGEST_KIB} KiB`);
}

/** Until so many bytes are there, or it ends. */
async function readPipe(path: string, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of readNamed(path)) {
    pieces.push(piece);
    size += piece.length;
    if (size >= most) break;
  }
  return Buffer.concat(pieces);
}

/** At most so many bytes. */
function readStart(path: string, most: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const pieces: Buffer[] = [];
    for (let left = most; left > 0; ) {
      const piece = Buffer.alloc(Math.min(left, PIECE_BYTES));
      const read = readSync(file, piece);
      if (read === 0) break;
      pieces.push(piece.subarray(0, read));
      left -= read;
    }
    return Buffer.concat(pieces);
  } finally {
    closeSync(file);
  }
}

const PIECE_BYTES = 4096;

/** Makes a file of mode 0600 that was not there before, whole and on the disk when it resolves, and not there when it fails. */
export async function writeNewSecretFile(path: string, content: Uint8Array | string): Promise<void> {
  const { open, rm } = await import('node:fs/promises');
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/** What a file system without hard links says: FAT and exFAT, of sticks and cards, some over a network. */
const NO_HARD_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Gives a file its name. A link, unlike a rename, never replaces a file that appeared in the meantime; where there are no links, a
 * placeholder of our own is replaced, and no signal comes in between.
 */
export async function putInPlace(temporary: string, path: string): Promise<void> {
  const { link, rm } = await import('node:fs/promises');
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

/** Lets a file go with this process, which a signal ends at once. What is answered lets it stay after all. */
export function removeAtExit(path: string): () => void {
  const remove = () => {
    try {
      rmSync(path, { force: true });
    } catch {
      // Windows keeps what is open. An error here would take the place of the exit code.
    }
  };
  process.on('exit', remove);
  return () => process.off('exit', remove);
}

/** Makes a new file of mode 0600 of the pieces as they come: it appears whole, or not at all, and after a signal nothing is left. */
export async function writeNewFile(
  flag: string,
  path: string,
  pieces: AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const { lstat, open, rm } = await import('node:fs/promises');
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined) throw new Fault('file_exists', `${flag}: ${path} exists`);
  const temporary = `${path}.${process.pid}.tmp`;
  const handle = await open(temporary, 'wx', 0o600).catch((error: unknown) => {
    throw cannotMake(flag, path, error);
  });
  const keep = removeAtExit(temporary);
  try {
    // `write` may stop in the middle of a piece when the disk is full; this goes on, and throws.
    for await (const piece of pieces) await handle.writeFile(piece);
    await handle.sync();
    await handle.close();
    await putInPlace(temporary, path).catch((error: unknown) => {
      throw cannotMake(flag, path, error);
    });
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(temporary, { force: true });
    throw noSpaceFor(flag, path, error) ?? error;
  } finally {
    keep();
  }
}

/** Turns what `open(…, 'wx')` throws into what the person at the machine can act on. */
export function cannotMake(flag: string, path: string, error: unknown): Fault {
  const code = errorCode(error);
  if (code === 'EEXIST') return new Fault('file_exists', `${flag}: ${path} exists`, { cause: error });
  const usage = { hint: 'its folder must be there, and writable', cause: error };
  return noSpaceFor(flag, path, error) ?? new Fault('usage', `${flag}: ${path} cannot be made (${code})`, usage);
}
