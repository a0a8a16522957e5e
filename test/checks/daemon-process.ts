import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const VAULT_BIN = fileURLToPath(new URL('../../dist/vault.cjs', import.meta.url));

const MAX_START_MS = 30_000;
const MAX_STOP_MS = 20_000;

/** The environment without `VAULT_` variables. */
export const ENVIRONMENT: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('VAULT_')),
);

/** The end of a process: its exit code, or the signal that killed it. */
type End = number | string | null;

interface ServeOptions {
  /** The path of the ready file. It is outside the vault's folder, which may be out of space. */
  readonly readyFile: string;
  /** The words after `vault serve`. Without a port or a socket among them, the daemon uses a free port. */
  readonly words: readonly string[];
  readonly bin?: string | undefined;
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Returns the command that runs a command line, such as a recorder, a limiter or a terminal. */
  readonly wrap?: ((line: readonly string[]) => readonly string[]) | undefined;
  /** The use of its output. `unread`: nobody reads it yet. Default: `told` returns it. */
  readonly output?: 'unread' | 'ignored';
}

/** A running daemon. Its disposal kills it. `pid` is that of the daemon, not of the command that runs it. */
export type DaemonProcess = Awaited<ReturnType<typeof startServe>>;

/** Starts `vault serve` and waits until it accepts requests. The daemon ends with this process at the latest. */
export async function startServe({
  readyFile,
  words,
  bin = VAULT_BIN,
  nodeFlags = [],
  env = {},
  wrap = (line) => line,
  output,
}: ServeOptions) {
  rmSync(readyFile, { force: true });
  const port = words.includes('--socket') || words.includes('--port') ? [] : ['--port', '0'];
  const line = [process.execPath, ...nodeFlags, bin, 'serve', ...port, '--ready-file', readyFile, ...words];
  const [program = '', ...args] = wrap(line);
  const pipe = output === 'ignored' ? 'ignore' : 'pipe';
  const child: ChildProcess = spawn(program, args, {
    env: { ...ENVIRONMENT, ...env },
    stdio: ['ignore', pipe, pipe],
    cwd: '/',
  });
  let told = '';
  for (const stream of output === undefined ? [child.stdout, child.stderr] : []) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      told += text;
    });
  }
  const failed = new Promise<never>((_resolve, reject) => child.once('error', reject));
  const ended = new Promise<End>((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  const ready = await Promise.race([untilReady(child, readyFile, () => told), failed]);
  const { url, pid } = ready;
  const kill = () => send(pid, 'SIGKILL');
  process.once('exit', kill);
  void ended.then(() => process.removeListener('exit', kill));
  /** Sends the signal to the daemon and waits for the whole process to end. Resolves to the exit code. */
  const stop = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    send(pid, signal);
    const timer = setTimeout(kill, MAX_STOP_MS);
    await ended;
    clearTimeout(timer);
    return child.exitCode;
  };
  const dispose = async () => void (await stop('SIGKILL'));
  return { url, pid, ready, child, ended, told: () => told, stop, [Symbol.asyncDispose]: dispose };
}

interface DaemonOptions extends Pick<ServeOptions, 'readyFile' | 'bin' | 'wrap'> {
  readonly file: string;
  readonly flags?: readonly string[];
  /** Default: the daemon writes no log. */
  readonly logFile?: string;
}

export function startDaemon({ file, flags = [], logFile, ...options }: DaemonOptions): Promise<DaemonProcess> {
  const log = logFile === undefined ? ['--log', 'false'] : ['--log-file', logFile];
  return startServe({ ...options, words: ['--file', file, ...log, ...flags] });
}

/** Calls a path of a daemon with this key: a GET, or a POST of the body. Resolves to the status and the JSON. */
export async function ask(url: string, key: string, path: string, body?: object) {
  const headers = { 'SVC-API-KEY': key, 'Content-Type': 'application/json' };
  const reply = await fetch(url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  return { status: reply.status, body: (await reply.json()) as Readonly<Record<string, unknown>> };
}

interface Ready {
  readonly url: string;
  readonly pid: number;
  /** The keys of a `--dev` daemon, and the link to its console. */
  readonly management_key?: string;
  readonly private_key?: string;
  readonly ui?: string;
}

/** Resolves to the ready file of a daemon when it is written. Rejects when the process ends before, or after 30 s. */
export async function untilReady(child: ChildProcess, readyFile: string, told = () => ''): Promise<Ready> {
  const started = performance.now();
  while (!existsSync(readyFile)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the daemon did not start: ${told()}`);
    if (performance.now() - started > MAX_START_MS) {
      child.kill('SIGKILL');
      throw new Error(`the daemon was not ready in time: ${told()}`);
    }
    await sleep(3);
  }
  return JSON.parse(readFileSync(readyFile, 'utf8'));
}

function send(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {} // already gone
}

/** Ends a daemon by the signal, if any. Resolves to its end, or to `late` after `ms` milliseconds; then kills it. */
export async function endWithin(
  { child, ended }: Pick<DaemonProcess, 'child' | 'ended'>,
  ms: number,
  signal?: NodeJS.Signals,
): Promise<End> {
  if (signal !== undefined) child.kill(signal);
  const stop = new AbortController();
  const late = sleep(ms, 'late', { signal: stop.signal }).catch(() => 'late');
  const end = await Promise.race([ended, late]);
  stop.abort();
  if (end === 'late') child.kill('SIGKILL');
  return end;
}

export async function isAnswering(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(5_000);
  return fetch(`${url}/livez`, { signal, headers: { connection: 'close' } }).then(
    ({ ok }) => ok,
    () => false,
  );
}

const MAX_MS = 20_000;

/** Runs a program until it ends or prints `until`. Kills it after 20 s, with null for the exit code. */
export async function runBriefly(
  cwd: string,
  env: NodeJS.ProcessEnv,
  [program = '', ...args]: readonly string[],
  until?: RegExp,
) {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [printed, stderr] = ['', ''];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      if (stream === child.stderr) stderr += text;
      if (until?.test(printed)) child.kill('SIGTERM');
    });
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), MAX_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  return { code, stderr, printed };
}

/** Runs a command of the built product with these variables. */
export const runVault = (words: readonly string[], own: NodeJS.ProcessEnv, wrapper: readonly string[] = []) =>
  runBriefly('/', { ...ENVIRONMENT, ...own }, [...wrapper, process.execPath, VAULT_BIN, ...words]);
