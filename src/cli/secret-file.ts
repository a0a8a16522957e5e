import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs';
import { Fault } from '../core/fault.ts';
import { errorCode } from './error-code.ts';
import { endBySignals } from './interrupt.ts';

/** No key, passphrase or chain of certificates is longer. A device must not fill the memory. */
const MAX_KIB = 1024;
const PIECE_BYTES = 4096;

/** The bytes of a file that a flag names. */
export async function readSecretFile(flag: string, path: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    const most = MAX_KIB * 1024 + 1;
    bytes = isNamedPipe(path) ? await readAtMost(readNamed(path), most) : readStart(path, most);
  } catch (error) {
    throw new Fault('usage', `${flag}: ${path} cannot be read (${errorCode(error)})`, { cause: error });
  }
  if (bytes.length <= MAX_KIB * 1024) return bytes;
  throw new Fault('usage', `${flag}: ${path} is longer than ${MAX_KIB} KiB`);
}

/** The bytes of a stream until so many are there, or it ends. */
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

/** Whether somebody else must write for a read to end: `mkfifo`, `<(…)`. Throws what `stat` throws. */
function isNamedPipe(path: string): boolean {
  return statSync(path).isFIFO();
}

/** The bytes behind a name, piece by piece; signals end the command while it waits for those of a pipe. */
export async function* readNamed(path: string): AsyncGenerator<Uint8Array> {
  const asBefore = isNamedPipe(path) ? endBySignals() : undefined;
  try {
    yield* createReadStream(path);
  } finally {
    asBefore?.();
  }
}
