import { ReadableStream as WebStream } from 'node:stream/web';
import type { Decrypter, Encrypter } from 'age-encryption';
import { Fault, isError } from '../../../core/fault.ts';
import { damagedFile, isArmored, readArmor } from './read-armor.ts';

/** The first characters of a binary age file of any version. */
const INTRO = 'age-encryption.org/';

/** Matches the start of an age file with a passphrase. Such a file has no other recipient. */
const BY_PASSPHRASE = /^age-encryption\.org\/v1\n-> scrypt /;

/** The number of bytes that identify a file, with room for white space before an armor. */
const START_BYTES = 256;

/** The start of an age file. */
export interface FileStart {
  readonly byPassphrase: boolean;
  /** For a passphrase, the whole header (150 bytes) and the bytes after it. */
  readonly bytes: Uint8Array;
}

/** A stream whose first characters were read. */
interface Opened {
  readonly start: string;
  /** The whole stream, including its start. */
  readonly all: AsyncIterable<Uint8Array>;
}

/** Reads the first characters of a stream. Resolves to them and the whole stream. */
export async function lookAhead(pieces: AsyncGenerator<Uint8Array>): Promise<Opened> {
  const seen: Uint8Array[] = [];
  for (let size = 0; size < START_BYTES; size += seen.at(-1)?.length ?? 0) {
    const { done, value } = await pieces.next();
    if (done === true) break;
    seen.push(value);
  }
  const all = (async function* () {
    yield* seen;
    yield* pieces;
  })();
  return { start: Buffer.concat(seen).toString('latin1', 0, START_BYTES), all };
}

/** Returns whether a file that starts with these characters is an age file, binary or armored. */
export function isAgeFile(start: string): boolean {
  return start.startsWith(INTRO) || isArmored(start);
}

/** Returns a web stream for `age-encryption`, which uses the types of DOM. They lack `from`. */
export function streamOf(pieces: AsyncIterable<Uint8Array> | readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const stream: object = WebStream.from(pieces);
  return stream as ReadableStream<Uint8Array>;
}

/** Encrypts a text and yields the bytes. */
export async function* encryptPieces(encrypter: Encrypter, pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const bytes = async function* () {
    for await (const piece of pieces) yield Buffer.from(piece);
  };
  yield* await encrypter.encrypt(streamOf(bytes()));
}

/**
 * Decrypts an age file (C2SP age-encryption.org/v1) with the decrypter that `choose` resolves to. The result yields the
 * complete chunks (64 KiB) before missing or altered bytes, and then throws `invalid_data`. Only its normal end proves
 * that the file is complete. Rejects with `invalid_data`, and with the errors of `choose`, its decrypter and the
 * stream.
 */
export async function decryptFile(
  opened: Opened,
  choose: (file: FileStart) => Promise<Decrypter>,
): Promise<AsyncGenerator<Uint8Array>> {
  const { start, all } = isArmored(opened.start) ? await lookAhead(readArmor(opened.all)) : opened;
  const decrypter = await choose({ byPassphrase: BY_PASSPHRASE.test(start), bytes: Buffer.from(start, 'latin1') });
  // A web stream that fails drops its waiting chunks. Node reads 64 KiB at a time, which complete at most one chunk.
  const decrypted = await decrypter.decrypt(streamOf(all)).catch(fail);
  return (async function* () {
    try {
      yield* decrypted;
    } catch (error) {
      fail(error);
    }
  })();
}

/** Throws the fault for an error of the package, and any other error as it is. The package's messages contain no secrets. */
function fail(error: unknown): never {
  if (error instanceof Fault || !isError(error) || error.name === 'ExitPromptError') throw error;
  throw damagedFile(error.message, error);
}
