import { stat } from 'node:fs/promises';
import { Fault } from '../../../core/fault.ts';
import { reasonOf } from '../../exit/error-reason.ts';
import { readNamed } from '../../files/secret-file.ts';
import type { FlagValues } from '../../flags/global-flags.ts';
import { decryptFile, isAgeFile, lookAhead } from './age-file.ts';
import { chooseDecrypter, type DECRYPT_FLAGS } from './age-keys.ts';
import type { ImportRow } from './import-row.ts';

/** The maximum length of a line, larger than any request body. */
const MAX_LINE = 16 * 1024 * 1024;

/** The input of an import, decrypted. */
export type InputFile = Awaited<ReturnType<typeof openInput>>;

/**
 * Opens a file or, for `-`, standard input. Decrypts an age file with the keys in the flags. Rejects with the faults
 * `usage`, `wrong_credential` and `invalid_data`.
 */
export async function openInput(path: string, flags: FlagValues<typeof DECRYPT_FLAGS>) {
  let read = 0;
  const pieces = (async function* () {
    // Open the stream on the first read: an unread stream would end the process when it fails.
    const stream: AsyncIterable<Uint8Array> = path === '-' ? process.stdin : readNamed(path);
    try {
      for await (const piece of stream) {
        read += piece.length;
        yield piece;
      }
    } catch (error) {
      throw unreadable(path, error);
    }
  })();
  /** The size in bytes, before decryption; undefined for a stream. */
  const size = path === '-' ? undefined : await sizeOf(path);
  const opened = await lookAhead(pieces);
  const isEncrypted = isAgeFile(opened.start);
  const bytes = isEncrypted ? await decryptFile(opened, (file) => chooseDecrypter(flags, file)) : opened.all;
  return { bytes, size, bytesRead: () => read };
}

async function sizeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if (found.isDirectory()) throw new Fault('usage', `${path} is a folder`);
  return found.isFile() ? found.size : undefined;
}

function unreadable(path: string, cause: unknown): Fault {
  return new Fault('usage', `${path} cannot be read (${reasonOf(cause)})`, { cause });
}

/** Decodes a UTF-8 stream without its byte order mark. Throws the fault `invalid_data`. */
export async function* decodePieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (piece?: Uint8Array): string => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch (cause) {
      throw new Fault('invalid_data', 'the file is not UTF-8', { cause });
    }
  };
  for await (const piece of pieces) yield decode(piece);
  yield decode();
}

/** Yields the lines of text in pieces, numbered from 1. Counts empty lines, but skips them. Throws `invalid_data`. */
export async function* readLines(pieces: AsyncIterable<string>): AsyncGenerator<ImportRow> {
  let rest = '';
  let line = 0;
  for await (const piece of pieces) {
    const texts = (rest + piece).split('\n');
    rest = texts.pop() ?? '';
    if (rest.length > MAX_LINE)
      throw new Fault('invalid_data', `line ${line + texts.length + 1} of the file is too long`);
    for (const text of texts) {
      line += 1;
      const body = text.trim();
      if (body !== '') yield { line, body };
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, body: rest.trim() };
}
