import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Fault } from '../core/fault.ts';
import { KEY_BYTES } from './credential.ts';
import { errorCode } from './error-code.ts';
import { stripControlCharacters } from './output/control-characters.ts';

const MAX_SECONDS = 30;
const MAX_ERROR_CHARACTERS = 300;

/** The variables of the vault and of PostgreSQL: they name other secrets. Windows ignores case in names. */
const OWN_VARIABLE = /^(?:VAULT_|PG)/i;

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** How a key is printed, by its size: the bits and the value of each digit, and the text behind the last one. */
const FORMS = [
  { size: KEY_BYTES, bits: 8, valueOf: (digit: string) => digit.charCodeAt(0), end: '' },
  { size: 44, bits: 6, valueOf: (digit: string) => BASE64.indexOf(digit), end: '=' },
  { size: 64, bits: 4, valueOf: (digit: string) => Number.parseInt(digit, 16), end: '' },
] as const;

/** The largest form, with `\r\n`. */
const MAX_BYTES = 66;

/**
 * Returns the key that a program prints; the caller wipes it. Splits the command at blanks and starts no shell. Rejects
 * with `usage` when the program fails or takes 30 s, and with `wrong_credential` when it prints no key.
 */
export async function runKeyCommand(command: string, flag: string): Promise<Uint8Array> {
  const [program = '', ...words] = command.trim().split(/\s+/);
  const printed = Buffer.alloc(MAX_BYTES + 1);
  try {
    const size = await run(program, words, flag, printed);
    const key = decodeKey(printed.subarray(0, size));
    if (key !== undefined) return key;
    const what = size > MAX_BYTES ? `more than ${MAX_BYTES} bytes` : `${size} bytes that are not a key`;
    throw new Fault('wrong_credential', `${flag}: ${program} printed ${what}`, {
      hint: 'make it print 32 raw bytes, 64 hex or 44 base64 characters, and at most one newline',
    });
  } finally {
    printed.fill(0);
  }
}

/** Fills `printed` with the start of the program's output. Returns the number of its bytes. */
async function run(program: string, words: readonly string[], flag: string, printed: Buffer): Promise<number> {
  let [size, errors] = [0, ''];
  let child: ChildProcess | undefined;
  // A child of the program may hold the pipes open.
  const stop = () => {
    child?.kill('SIGKILL');
    child?.stdout?.destroy();
    child?.stderr?.destroy();
  };
  const timer = setTimeout(stop, MAX_SECONDS * 1000);
  process.on('exit', stop);
  try {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN_VARIABLE.test(name)));
    // gpg finds the terminal for its question by standard input. A pipe holds the input of the vault's own command.
    const input = process.stdin.isTTY === true ? 'inherit' : 'ignore';
    child = spawn(program, words, { env, stdio: [input, 'pipe', 'pipe'], windowsHide: true });
    const ended = once(child, 'close');
    child.stdout?.on('data', (piece: Buffer) => {
      size += piece.copy(printed, size);
      piece.fill(0);
      if (size > MAX_BYTES) stop();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (errors.length < MAX_ERROR_CHARACTERS) errors = (errors + text).trimStart();
    });
    await ended;
  } catch (cause) {
    throw new Fault('usage', `${flag}: ${program || 'an empty command'} cannot be run (${errorCode(cause)})`, {
      hint: 'name a program, and its arguments split at blanks; no shell reads them',
      cause,
    });
  } finally {
    clearTimeout(timer);
    process.off('exit', stop);
  }
  if (size > MAX_BYTES || child.exitCode === 0) return size;
  if (child.killed) throw new Fault('usage', `${flag}: ${program} took longer than ${MAX_SECONDS} s`);
  const [line = ''] = errors.slice(0, MAX_ERROR_CHARACTERS).split('\n');
  const end = child.signalCode ?? `exit code ${child.exitCode}`;
  throw new Fault('usage', `${flag}: ${program} ended with ${end}${line && `: ${stripControlCharacters(line)}`}`);
}

/** Returns undefined for other bytes. Decodes byte by byte: a string of the key could not be wiped. */
function decodeKey(printed: Buffer): Uint8Array | undefined {
  const form = FORMS.find(({ size, end }) => {
    const newline = printed.length - size;
    if (newline < 0 || newline > 2) return false;
    return printed.toString('latin1', size - end.length) === end + ['', '\n', '\r\n'][newline];
  });
  if (form === undefined) return undefined;
  const key = new Uint8Array(KEY_BYTES);
  let [at, held, bits] = [0, 0, 0];
  for (const byte of printed.subarray(0, form.size - form.end.length)) {
    const value = form.valueOf(String.fromCharCode(byte));
    if (!(value >= 0)) {
      key.fill(0);
      return undefined;
    }
    held = (held << form.bits) | value;
    bits += form.bits;
    if (bits < 8) continue;
    bits -= 8;
    key[at++] = held >> bits;
    held &= (1 << bits) - 1;
  }
  return key;
}
