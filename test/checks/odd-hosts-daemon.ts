import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENVIRONMENT, untilReady } from './daemon-process.ts';

/** The end of a process: its exit code, or the signal that killed it. */
export type End = number | string | null;

export interface Started {
  readonly child: ChildProcess;
  /** The process id of the daemon, which a terminal may have started. */
  readonly pid: number;
  readonly url: string;
  /** The key of a `--dev` daemon. */
  readonly managementKey: string | undefined;
  readonly ended: Promise<End>;
  /** Returns what the process has printed so far. */
  told(): string;
}

interface Start {
  readonly bin: string;
  readonly readyFile: string;
  readonly words: readonly string[];
  /** Whether nobody reads the standard error of the daemon until `read` is called on it. */
  readonly isUnread?: boolean;
  readonly isOnTerminal?: boolean;
}

const quote = (word: string) => `'${word}'`;

/** Starts `vault serve`, on a terminal of its own if asked. Resolves when it is ready. It ends with this process. */
export async function startServe({
  bin,
  readyFile,
  words,
  isUnread = false,
  isOnTerminal = false,
}: Start): Promise<Started> {
  const port = words.includes('--socket') ? [] : ['--port', '0'];
  const line = [process.execPath, bin, 'serve', ...port, '--ready-file', readyFile, ...words];
  const [program = '', ...args] = isOnTerminal
    ? ['script', '-qec', `exec ${line.map(quote).join(' ')}`, '/dev/null']
    : line;
  const child = spawn(program, args, { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' });
  let told = '';
  for (const stream of isUnread ? [] : [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      told += text;
    });
  }
  const ended = new Promise<End>((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  const { url, pid, management_key: managementKey } = await untilReady(child, readyFile, () => told);
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  void ended.then(() => process.removeListener('exit', kill));
  return { child, pid, url, managementKey, ended, told: () => told };
}

/** Resolves to the end of a daemon, or to `late` after `ms` milliseconds; then kills it. */
export async function endWithin({ child, ended }: Pick<Started, 'child' | 'ended'>, ms: number): Promise<End> {
  const stop = new AbortController();
  const late = sleep(ms, 'late', { signal: stop.signal }).catch(() => 'late');
  const end = await Promise.race([ended, late]);
  stop.abort();
  if (end === 'late') child.kill('SIGKILL');
  return end;
}

/** Resolves to whether a daemon answers. */
export async function isAnswering(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(5_000);
  return fetch(`${url}/livez`, { signal, headers: { connection: 'close' } }).then(
    ({ ok }) => ok,
    () => false,
  );
}
