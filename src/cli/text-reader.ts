import { Fault } from '../core/fault.ts';
import { errorCode } from './error-code.ts';
import { readAtMost, readNamed } from './secret-file.ts';

/** Resolves a flag's value to text: the value itself, the file after `@`, or standard input for `-`. */
export type ReadText = (flag: string, typed: string) => Promise<string>;

/** The part of standard input that the reader needs. */
export type InputStream = AsyncIterable<Uint8Array | string>;

/** In MiB; more than any daemon accepts by default. A device or an endless command must not fill the memory. */
const MAX_MIB = 256;

/** Standard input can be read once; a second flag that reads it is an error. */
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

/** The message omits the name: it may be a secret that begins with `@`. */
async function readAfterAt(flag: string, path: string): Promise<Uint8Array> {
  try {
    return await collect(flag, readNamed(path));
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault('usage', `${flag}: the file after @ cannot be read (${errorCode(error)})`, {
      hint: `pass a text that begins with @ on standard input: ${flag} -`,
      cause: error,
    });
  }
}

async function collect(flag: string, stream: InputStream): Promise<Uint8Array> {
  const bytes = await readAtMost(stream, MAX_MIB * 1024 ** 2 + 1);
  if (bytes.length <= MAX_MIB * 1024 ** 2) return bytes;
  throw new Fault('invalid_data', `${flag}: the text is longer than ${MAX_MIB} MiB`);
}

/** JSON text may not begin with a byte order mark (RFC 8259 §8.1), but editors write one; the decoder removes it. */
export function decodeText(flag: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Fault('usage', `${flag}: the text is not UTF-8`, { cause: error });
  }
}
