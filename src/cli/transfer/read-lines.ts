import { Fault } from '../../core/fault.ts';

/** More than a request's body may be, escapes and all: a line that is longer is no token. */
const LONGEST = 16 * 1024 * 1024;

/** A line of a text, without its end; numbered from 1. */
export interface Line {
  readonly line: number;
  readonly text: string;
}

/** The text of a stream of UTF-8, without a byte order mark. Throws the fault `invalid_data`. */
export async function* decodeText(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
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

/** The lines of a text that comes in pieces; empty ones are passed over, but counted. Throws the fault `invalid_data`. */
export async function* readLines(pieces: AsyncIterable<string>): AsyncGenerator<Line> {
  let rest = '';
  let line = 0;
  for await (const piece of pieces) {
    const texts = (rest + piece).split('\n');
    rest = texts.pop() ?? '';
    if (rest.length > LONGEST)
      throw new Fault('invalid_data', `line ${line + texts.length + 1} of the file is too long`);
    for (const text of texts) {
      line += 1;
      if (text.trim() !== '') yield { line, text };
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, text: rest };
}
