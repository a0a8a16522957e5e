import { decodeUtf8 } from '../../core/bytes.ts';
import { Fault } from '../../core/fault.ts';
import { reasonOf } from '../exit/error-reason.ts';
import { readAtMost, readNamed } from './secret-file.ts';

/** Resolves to the text of a flag: the typed text itself, the file named after `@`, or standard input for `-`. */
export type ReadText = (flag: string, typed: string) => Promise<string>;

/** The part of standard input that the reader needs. */
export type InputStream = AsyncIterable<Uint8Array | string>;

/** The maximum size of a text, in MiB, so that an endless device or command cannot fill the memory. */
const MAX_MIB = 256;

/** Creates a reader. It rejects with `usage` for a second flag that reads standard input, which can be read once. */
export function createTextReader(stdin: () => InputStream = () => process.stdin): ReadText {
  let readBy: string | undefined;
  return async (flag, typed) => {
    if (typed === '-') {
      if (readBy !== undefined) throw new Fault('usage', `${readBy} and ${flag} cannot both read standard input`);
      readBy = flag;
      return decodeText(flag, await collect(flag, stdin()));
    }
    return typed.startsWith('@') ? decodeText(flag, await readAfterAt(flag, typed.slice(1))) : typed;
  };
}

/** Reads the file after `@`. Its errors omit the name, which may be a secret text that begins with `@`. */
async function readAfterAt(flag: string, path: string): Promise<Uint8Array> {
  try {
    return await collect(flag, readNamed(path));
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault('usage', `${flag}: the file after @ cannot be read (${reasonOf(error)})`, {
      ...(flag !== '--body' && { hint: `pass a text that begins with @ on standard input: ${flag} -` }),
      cause: error,
    });
  }
}

async function collect(flag: string, stream: InputStream): Promise<Uint8Array> {
  const bytes = await readAtMost(stream, MAX_MIB * 1024 ** 2 + 1);
  if (bytes.length <= MAX_MIB * 1024 ** 2) return bytes;
  throw new Fault('invalid_data', `${flag}: the text is longer than ${MAX_MIB} MiB`);
}

/** Decodes UTF-8 without a byte order mark: editors write one, but JSON allows none (RFC 8259 §8.1). Throws `invalid_data`. */
export function decodeText(flag: string, bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text === undefined)
    throw new Fault('invalid_data', `${flag}: the text is not UTF-8`, {
      hint: 'convert it with iconv, or encode bytes in base64',
    });
  return text.replace(/^\uFEFF/, '');
}
