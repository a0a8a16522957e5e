import { closeSync, openSync, readSync } from 'node:fs';
import { Fault } from '../core/fault.ts';
import { errorCode } from './error-code.ts';
import { isNamedPipe, readNamed } from './named-input.ts';

/** No key, passphrase or chain of certificates is longer. A device must not fill the memory. */
const MAX_KIB = 1024;

/** The bytes of a file that a flag names. */
export async function readSecretFile(flag: string, path: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    const most = MAX_KIB * 1024 + 1;
    bytes = isNamedPipe(path) ? await readPipe(path, most) : readStart(path, most);
  } catch (error) {
    throw new Fault('usage', `${flag}: ${path} cannot be read (${errorCode(error)})`, { cause: error });
  }
  if (bytes.length <= MAX_KIB * 1024) return bytes;
  throw new Fault('usage', `${flag}: ${path} is longer than ${MAX_KIB} KiB`);
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
