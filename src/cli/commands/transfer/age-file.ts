import { ReadableStream as WebStream } from 'node:stream/web';
import type { Decrypter, Encrypter } from 'age-encryption';
import { isError } from '../../../core/error-code.ts';
import { Fault } from '../../../core/fault.ts';
import { damagedFile, isArmored, readArmor } from './read-armor.ts';

/** The first characters of a binary file of age, of any version. */
const INTRO = 'age-encryption.org/';

/** A passphrase is the only recipient of its file. */
const BY_PASSPHRASE = /^age-encryption\.org\/v1\n-> scrypt /;

/** The number of bytes that show what a file is, with some white space before an armor. */
const START_BYTES = 128;

/** A stream of which the first characters are known. */
interface Opened {
  readonly start: string;
  /** The whole stream, with its start. */
  readonly all: AsyncIterable<Uint8Array>;
}

/** Resolves to a stream and its first characters. */
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

/** Returns whether a file that starts with these characters is a file of age, binary or armored. */
export function isAgeFile(start: string): boolean {
  return start.startsWith(INTRO) || isArmored(start);
}

/** Returns a web stream, which the package reads. Its types are those of DOM, which lack `from`. */
export function streamOf(pieces: AsyncIterable<Uint8Array> | readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const stream: object = WebStream.from(pieces);
  return stream as ReadableStream<Uint8Array>;
}

/** Yields the bytes of an encrypted text. */
export async function* encryptPieces(encrypter: Encrypter, pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const bytes = async function* () {
    for await (const piece of pieces) yield Buffer.from(piece);
  };
  yield* await encrypter.encrypt(streamOf(bytes()));
}

/**
 * Opens a file of age (C2SP age-encryption.org/v1) with the decrypter that `choose` resolves to. The result yields the
 * complete chunks (64 KiB) before a cut or damage; only its end proves that the file is complete. Both throw
 * `invalid_data` for missing or altered bytes, and the errors of `choose`, of its decrypter and of the stream.
 */
export async function decryptFile(
  opened: Opened,
  choose: (file: { readonly byPassphrase: boolean }) => Promise<Decrypter>,
): Promise<AsyncGenerator<Uint8Array>> {
  const { start, all } = isArmored(opened.start) ? await lookAhead(readArmor(opened.all)) : opened;
  const decrypter = await choose({ byPassphrase: BY_PASSPHRASE.test(start) });
  // A web stream that fails drops the chunks that wait in it. Node reads 64 KiB at once, which complete at most one.
  const decrypted = await decrypter.decrypt(streamOf(all)).catch(fail);
  return (async function* () {
    try {
      yield* decrypted;
    } catch (error) {
      fail(error);
    }
  })();
}

/** Throws the fault for an error of the package, whose messages contain no secrets. */
function fail(error: unknown): never {
  if (error instanceof Fault || !isError(error)) throw error;
  throw damagedFile(error.message, error);
}
