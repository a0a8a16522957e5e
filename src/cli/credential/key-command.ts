import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Fault } from '../../core/fault.ts';
import { clearTimeout, setTimeout } from '../../core/timers.ts';
import { reasonOf } from '../exit/error-reason.ts';
import { stripControlCharacters } from '../output/control-characters.ts';
import { decodeKey, KEY_FORMS, MAX_KEY_BYTES } from './decode-key.ts';

const MAX_SECONDS = 30;
const MAX_ERROR_CHARACTERS = 300;

/** Matches variables of the vault and of PostgreSQL, which may contain secrets. Windows ignores the case of names. */
const OWN_VARIABLE = /^(?:VAULT_|PG)/i;

/** Returns the environment for a program that must not get the vault's secrets. */
export function withoutOwnVariables(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN_VARIABLE.test(name)));
}

/**
 * Resolves to the key that a program prints; the caller wipes the key. Splits the command at blanks and starts no
 * shell. Rejects with `usage` when the program fails or takes 30 s, and with `wrong_credential` when it prints no key.
 */
export async function runKeyCommand(command: string, flag: string): Promise<Uint8Array> {
  const [program = '', ...words] = command.trim().split(/\s+/);
  const printed = Buffer.alloc(MAX_KEY_BYTES + 1);
  try {
    const size = await run(program, words, flag, printed);
    const key = decodeKey(printed.subarray(0, size));
    if (key !== undefined) return key;
    const what = size > MAX_KEY_BYTES ? `more than ${MAX_KEY_BYTES} bytes` : `${size} bytes that are not a key`;
    throw new Fault('wrong_credential', `${flag}: ${program} printed ${what}`, {
      hint: `the program must print ${KEY_FORMS}`,
    });
  } finally {
    printed.fill(0);
  }
}

/** Runs a program and stores the start of its output in `printed`. Resolves to the number of stored bytes. */
async function run(program: string, words: readonly string[], flag: string, printed: Buffer): Promise<number> {
  let [size, errors] = [0, ''];
  let child: ChildProcess | undefined;
  // Close the pipes, too: a child of the program may keep them open.
  const stop = () => {
    child?.kill('SIGKILL');
    child?.stdout?.destroy();
    child?.stderr?.destroy();
  };
  const timer = setTimeout(stop, MAX_SECONDS * 1000);
  process.on('exit', stop);
  try {
    const env = withoutOwnVariables();
    // gpg needs the terminal as standard input for its prompt. Do not pass on a pipe: it is the vault's own input.
    const input = process.stdin.isTTY === true ? 'inherit' : 'ignore';
    child = spawn(program, words, { env, stdio: [input, 'pipe', 'pipe'], windowsHide: true });
    const ended = once(child, 'close');
    child.stdout?.on('data', (piece: Buffer) => {
      size += piece.copy(printed, size);
      piece.fill(0);
      if (size > MAX_KEY_BYTES) stop();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (errors.length < MAX_ERROR_CHARACTERS) errors = (errors + text).trimStart();
    });
    await ended;
  } catch (cause) {
    throw new Fault('usage', `${flag}: ${program || 'an empty command'} cannot be run (${reasonOf(cause)})`, {
      hint: 'name a program and its arguments, separated by blanks; no shell interprets them',
      cause,
    });
  } finally {
    clearTimeout(timer);
    process.off('exit', stop);
  }
  if (size > MAX_KEY_BYTES || child.exitCode === 0) return size;
  if (child.killed) throw new Fault('usage', `${flag}: ${program} took longer than ${MAX_SECONDS} s`);
  const [line = ''] = errors.slice(0, MAX_ERROR_CHARACTERS).split('\n');
  const end = child.signalCode ?? `exit code ${child.exitCode}`;
  throw new Fault('usage', `${flag}: ${program} ended with ${end}${line && `: ${stripControlCharacters(line)}`}`);
}
