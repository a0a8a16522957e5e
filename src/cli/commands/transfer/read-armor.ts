import { Fault } from '../../../core/fault.ts';

const BEGIN = '-----BEGIN AGE ENCRYPTED FILE-----';
const END = '-----END AGE ENCRYPTED FILE-----';

/** The bytes in a full line, which has 64 characters. */
const FULL_BYTES = 48;
/** The maximum length of a line. Only white space around the armor may have such long lines. */
const MAX_LINE = 1024;

/** Returns whether a file that starts with these characters is an armored age file. */
export function isArmored(start: string): boolean {
  return start.trimStart().startsWith(BEGIN);
}

/** Returns the fault for an age file with missing or altered bytes. */
export function damagedFile(reason: string, cause?: unknown): Fault {
  return new Fault('invalid_data', `the encrypted file is damaged or truncated (${reason})`, {
    hint: 'copy the file again, or repeat the export; rows before the damage may have been imported',
    cause,
  });
}

/**
 * Decodes an armored file (C2SP age-encryption.org/v1, ASCII armor) as it arrives; the package decodes only whole
 * texts. Throws `invalid_data` for a line that is not canonical, a line before the last that is not full, and a
 * missing end.
 */
export async function* readArmor(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let [rest, line] = ['', 0];
  let part = 'before' as 'before' | 'inside' | 'last line' | 'after';

  function decode(text: string): Uint8Array {
    line += 1;
    const bytes = Buffer.from(text, 'base64');
    if (part === 'before' && text.trimStart() === BEGIN) part = 'inside';
    else if (part === 'before' || part === 'after') requireArmor(text.trim() === '');
    else if (text.trimEnd() === END) part = 'after';
    else {
      requireArmor(part === 'inside' && bytes.toString('base64') === text && bytes.length > 0);
      requireArmor(bytes.length <= FULL_BYTES);
      if (bytes.length < FULL_BYTES) part = 'last line';
      return bytes;
    }
    return new Uint8Array(0);
  }

  function requireArmor(isArmor: boolean): void {
    if (!isArmor) throw damagedFile(`line ${line} of the armor`);
  }

  for await (const piece of pieces) {
    const lines = (rest + Buffer.from(piece).toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    requireArmor(rest.length <= MAX_LINE);
    yield Buffer.concat(lines.map((text) => decode(text.replace(/\r$/, ''))));
  }
  yield decode(rest);
  if (part !== 'after') throw damagedFile('the armor has no end');
}
