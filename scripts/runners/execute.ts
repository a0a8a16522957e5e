import { spawn } from 'node:child_process';
import path from 'node:path';
import { type Environment, exitOf } from '../run-vault.ts';

const MAX_RUN_MS = 180_000;

/** The folder and the variables of a command line. */
export interface Setting {
  readonly cwd: string;
  readonly env: Environment;
}

/**
 * Returns the environment of this process with the programs of `folders` and this Node first, without settings of a
 * vault, and without `NODE_ENV`, which would leave out development packages.
 */
export function environment(folders: readonly string[], more: Environment = {}): Environment {
  const own = Object.entries(process.env).filter(([name]) => name !== 'NODE_ENV' && !name.startsWith('VAULT_'));
  const PATH = [...folders, path.dirname(process.execPath), process.env['PATH']].join(path.delimiter);
  return { ...Object.fromEntries(own), NO_COLOR: '1', FORCE_COLOR: '0', ...more, PATH };
}

/** Starts a command line in a shell. Returns the child, and `ended`, which resolves to its exit code and output. */
export function start(line: string, { cwd, env }: Setting) {
  const child = spawn(line, { cwd, env, shell: true, stdio: ['ignore', 'pipe', 'pipe'], timeout: MAX_RUN_MS });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = exitOf(child).then((code) => ({ code, output }));
  return { child, ended };
}

/** Runs a command line and returns its output. Throws when the exit code is another one than `code`. */
export async function execute(line: string, setting: Setting, code = 0): Promise<string> {
  const ended = await start(line, setting).ended;
  if (ended.code !== code) throw new Error(`\`${line}\` ended with ${ended.code}:\n${ended.output.slice(-4000)}`);
  return ended.output;
}
