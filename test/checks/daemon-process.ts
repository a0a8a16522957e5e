import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The built command line. */
export const VAULT_BIN = fileURLToPath(new URL('../../dist/vault.cjs', import.meta.url));

const MAX_START_MS = 30_000;
const MAX_STOP_MS = 20_000;

/** The environment without `VAULT_` variables. */
export const ENVIRONMENT: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('VAULT_')),
);

export interface DaemonOptions {
  readonly file: string;
  /** The path of the ready file. It is outside the vault's folder, which may be out of space. */
  readonly readyFile: string;
  readonly flags?: readonly string[];
  /** Default: the daemon writes no log. */
  readonly logFile?: string;
  /** A command that runs the daemon, such as a recorder or a limiter. The daemon's command line is appended. */
  readonly wrapper?: readonly string[];
  /** The path of another product build. Default: the build of this checkout. */
  readonly bin?: string;
}

/** It is killed where it is disposed. */
export interface DaemonProcess extends AsyncDisposable {
  readonly url: string;
  /** The process id of the daemon, not of the wrapper. */
  readonly pid: number;
  /** Sends the signal to the daemon and waits for the whole process to end. Resolves to the exit code. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** Starts `vault serve` and waits until it accepts requests. The daemon ends with this process at the latest. */
export async function startDaemon({
  file,
  readyFile,
  logFile,
  flags = [],
  wrapper = [],
  bin = VAULT_BIN,
}: DaemonOptions): Promise<DaemonProcess> {
  rmSync(readyFile, { force: true });
  const log = logFile === undefined ? ['--log', 'false'] : ['--log-file', logFile];
  const serve = ['serve', '--file', file, '--port', '0', '--ready-file', readyFile, ...log, ...flags];
  const [program = '', ...args] = [...wrapper, process.execPath, bin, ...serve];
  const child = spawn(program, args, { env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'] });
  let told = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  const failed = new Promise<never>((_resolve, reject) => child.once('error', reject));
  const ready = await Promise.race([untilReady(child, readyFile, () => told), failed]);
  const { url, pid } = ready;
  const kill = () => send(pid, 'SIGKILL');
  process.once('exit', kill);
  const stop: DaemonProcess['stop'] = async (signal) => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const gone = once(child, 'exit');
    send(pid, signal);
    const timer = setTimeout(kill, MAX_STOP_MS);
    await gone;
    clearTimeout(timer);
    process.removeListener('exit', kill);
    return child.exitCode;
  };
  return { url, pid, stop, [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')) };
}

/** The members of a ready file that checks use. */
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
