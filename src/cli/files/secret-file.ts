import { closeSync, createReadStream, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { shellWord } from '../../client/shell-word.ts';
import { Fault } from '../../core/fault.ts';
import { isOpenToOthers } from '../../core/open-to-others.ts';
import { reasonOf } from '../exit/error-reason.ts';
import { endBySignals } from '../exit/interrupt.ts';
import { FLAGS, readFlags } from '../flags/global-flags.ts';

/** The maximum size of a key, passphrase or certificate chain, so that an endless device cannot fill the memory. */
const MAX_KIB = 1024;
const PIECE_BYTES = 4096;

/** Checks an open file before its contents are read. Throws the fault `file_unsafe`. */
type CheckOpened = (path: string, opened: Stats) => void;

/**
 * Resolves to the bytes of a secret file. Rejects with `usage`, which names `flag`, and `file_unsafe` if others can
 * open it.
 */
export async function readSecretFile(flag: string, path: string): Promise<Buffer> {
  return readSmallFile(flag, path, assertPrivate);
}

/**
 * Throws the fault `file_unsafe` unless a file belongs to this user or root, and is not open to others. Accepts pipes
 * and devices, since they store nothing that others could read later, and every file on Windows, which has no modes.
 */
export function assertPrivate(path: string, opened: Pick<Stats, 'uid' | 'gid' | 'mode' | 'isFile'>): void {
  const user = process.getuid?.();
  if (user === undefined || !opened.isFile()) return;
  const isForeign = opened.uid !== user && opened.uid !== 0;
  if (!isForeign && !isOpenToOthers(opened)) return;
  if (readFlags(FLAGS.permissions, { flags: {}, env: process.env }).allowInsecurePermissions) return;
  throw new Fault('file_unsafe', `${path} ${isForeign ? 'belongs to another user' : 'is open to other users'}`, {
    hint: isForeign ? `make a copy of your own, then \`chmod 600 COPY\`` : `chmod 600 ${shellWord(path)}`,
  });
}

/** Resolves to the bytes of a file of at most 1 MiB. Rejects with `usage`, naming `flag`, and errors of `check`. */
export async function readSmallFile(flag: string, path: string, check?: CheckOpened): Promise<Buffer> {
  let bytes: Buffer;
  try {
    const most = MAX_KIB * 1024 + 1;
    // A stream would delay each command by 4 ms.
    bytes = isNamedPipe(path) ? await readAtMost(readNamed(path, check), most) : readStart(path, most, check);
  } catch (error) {
    if (error instanceof Fault) throw error;
    const hint = path === '-' ? 'for standard input, write /dev/stdin' : undefined;
    throw new Fault('usage', `${flag}: ${path} cannot be read (${reasonOf(error)})`, { hint, cause: error });
  }
  if (bytes.length <= MAX_KIB * 1024) return bytes;
  throw new Fault('usage', `${flag}: ${path} is longer than ${MAX_KIB} KiB`);
}

/** Resolves to the bytes of a stream. Stops reading after the piece that reaches `most` bytes. */
export async function readAtMost(stream: AsyncIterable<Uint8Array | string>, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    pieces.push(bytes);
    size += bytes.length;
    if (size >= most) break;
  }
  return Buffer.concat(pieces);
}

/** Returns the first bytes of a file, at most `most`. */
function readStart(path: string, most: number, check?: CheckOpened): Buffer {
  const file = openSync(path, 'r');
  try {
    check?.(path, fstatSync(file));
    const pieces: Buffer[] = [];
    for (let remaining = most; remaining > 0; ) {
      const piece = Buffer.alloc(Math.min(remaining, PIECE_BYTES));
      const read = readSync(file, piece);
      if (read === 0) break;
      pieces.push(piece.subarray(0, read));
      remaining -= read;
    }
    return Buffer.concat(pieces);
  } finally {
    closeSync(file);
  }
}

/** Returns whether a path is a named pipe (`mkfifo`, `<(…)`), whose read waits for a writer. Throws as `stat` does. */
function isNamedPipe(path: string): boolean {
  return statSync(path).isFIFO();
}

/** Yields the bytes of a file. Lets signals kill the process during the read of a named pipe. */
export async function* readNamed(path: string, check?: CheckOpened): AsyncGenerator<Uint8Array> {
  const asBefore = isNamedPipe(path) ? endBySignals() : undefined;
  try {
    const stream = createReadStream(path);
    stream.once('open', (file) => {
      try {
        // Check the opened file, because it may have replaced the pipe.
        check?.(path, fstatSync(file));
      } catch (error) {
        stream.destroy(error as Fault);
      }
    });
    yield* stream;
  } finally {
    asBefore?.();
  }
}
