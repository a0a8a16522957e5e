import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { ROOT } from './build-output.ts';

export const BIN = path.join(ROOT, 'dist/vault.cjs');

export type Environment = Readonly<NodeJS.ProcessEnv>;

/** A daemon that listens. `end` sends a signal to it and resolves to its exit code or signal. */
export interface ServedVault {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  end(signal?: NodeJS.Signals): Promise<Exit>;
  stderr(): string;
}

/** The exit code or the signal. */
type Exit = number | NodeJS.Signals | null;

/** The variables that a process needs to start. */
const INHERITED = ['PATH', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR'];
const LISTENING = /^vault: listening on (\S+)/m;

/** Returns an environment of a few fixed variables, with `folder` as the home directory. */
export function bareEnvironment(folder: string): Environment {
  const inherited = INHERITED.map((name) => [name, process.env[name]]);
  const homes = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'XDG_CONFIG_HOME'].map((name) => [name, folder]);
  return { ...Object.fromEntries([...inherited, ...homes]), NO_COLOR: '1' };
}

/** Resolves to how a child ended, when its output is complete. Rejects when it did not start. */
export function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
}

/** Returns the id of a child's process. */
export function pidOf({ pid, spawnfile }: ChildProcess): number {
  if (pid === undefined) throw new Error(`${spawnfile} has not started`);
  return pid;
}

/** Starts Node. Returns the child, its growing `output`, and `ended`, which resolves to its exit code or signal. */
function start(args: readonly string[], env: Environment, node = process.execPath) {
  const child = spawn(node, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  return { child, output, ended: exitOf(child) };
}

/** Runs Node until it ends and returns its standard output. Throws when the exit code is not 0. */
export async function run(args: readonly string[], env: Environment): Promise<string> {
  const { output, ended } = start(args, env);
  const exit = await ended;
  if (exit !== 0) throw new Error(`node ${args.join(' ')} ended with ${exit}: ${output.stderr}`);
  return output.stdout;
}

/** Runs a command and returns its JSON result. */
export const vault = async (args: readonly string[], env: Environment) =>
  JSON.parse(await run([BIN, ...args, '--output', 'json'], env));

/**
 * Starts `vault serve` on a free port. Resolves to the daemon when it listens; rejects when it ends earlier.
 */
export async function serve(
  args: readonly string[],
  env: Environment,
  { node, flags = [], bin = BIN }: { node?: string; flags?: readonly string[]; bin?: string } = {},
): Promise<ServedVault> {
  const port = args.includes('--port') ? [] : ['--port', '0'];
  const words = [...flags, bin, 'serve', ...port, '--no-log', ...args];
  const { child, output, ended } = start(words, env, node);
  const end = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return ended;
  };
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', () => {
      const [, found] = output.stderr.match(LISTENING) ?? [];
      if (found !== undefined) resolve(found);
    });
    ended.then((exit) => reject(new Error(`serve ended with ${exit}: ${output.stderr}`)), reject);
  });
  return { url, port: Number(new URL(url).port), pid: pidOf(child), end, stderr: () => output.stderr };
}

/**
 * Starts `vault ui`. Resolves to the link that it prints, and to `end`, which stops it and resolves to its exit code.
 */
export async function openUi(args: readonly string[], env: Environment) {
  const { child, output, ended } = start([BIN, 'ui', '--no-open', ...args], env);
  const end = () => {
    child.kill('SIGTERM');
    return ended;
  };
  const link = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => output.stdout.endsWith('\n') && resolve(output.stdout.trim()));
    ended.then((exit) => reject(new Error(`ui ended with ${exit}: ${output.stderr}`)), reject);
  });
  return { link, end };
}
