import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CheckFailure } from './check.ts';
import { type DaemonProcess, endWithin, isAnswering, startServe, VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { inParallel } from './perform.ts';
import { makeVaultFile } from './vault-file.ts';

/**
 * The effects of a signal on a daemon. `stops`: in order, with a line. `reports`: one line. `dies`: the signal ends it.
 */
type Effect = 'stops' | 'reports' | 'stays' | 'pauses' | 'dies';

const SIGNALS: readonly (readonly [signal: NodeJS.Signals, without: Effect, onTerminal: Effect])[] = [
  ['SIGHUP', 'reports', 'stops'],
  ['SIGINT', 'stops', 'stops'],
  ['SIGTERM', 'stops', 'stops'],
  ['SIGUSR1', 'stays', 'stays'],
  ['SIGUSR2', 'reports', 'reports'],
  ['SIGPIPE', 'stays', 'stays'],
  ['SIGWINCH', 'stays', 'stays'],
  ['SIGCONT', 'stays', 'stays'],
  ['SIGTSTP', 'pauses', 'pauses'],
  ['SIGQUIT', 'dies', 'dies'],
  ['SIGALRM', 'dies', 'dies'],
  ['SIGKILL', 'dies', 'dies'],
];

const STAYS: ReadonlySet<Effect> = new Set(['reports', 'stays', 'pauses']);
const SETTLE_MS = 50;
const MAX_END_MS = 8_000;

interface Case {
  readonly isOnTerminal: boolean;
  /** The signals that one daemon receives. Only the last one may end it. */
  readonly signals: readonly (readonly [signal: NodeJS.Signals, effect: Effect])[];
}

/** Sends each signal to a daemon, with and without a terminal. Returns the number of signals sent. */
export async function trySignals(isSample: boolean, bin = VAULT_BIN): Promise<number> {
  using folder = makeMemoryFolder();
  const { file, keyFile } = await makeVaultFile(folder.path);
  const cases = [false, ...(hasScript() ? [true] : [])].flatMap((isOnTerminal) => casesOf(isOnTerminal, isSample));
  await inParallel(cases.length, 2, async (index) => {
    const { isOnTerminal = false, signals = [] } = cases[index] ?? {};
    const readyFile = join(folder.path, `ready-${index}`);
    const daemon = await startServe({
      bin,
      readyFile,
      words: ['--no-log', '--file', file],
      wrap: isOnTerminal ? onTerminal : undefined,
    });
    for (const [signal, effect] of signals) {
      const told = await send(daemon, signal, effect, isOnTerminal);
      if (told !== undefined)
        throw new CheckFailure(`${signal} ${isOnTerminal ? 'on' : 'without'} a terminal: ${told}: ${daemon.told()}`);
    }
    rmSync(readyFile, { force: true });
  });
  const doctor = spawnSync(process.execPath, [bin, 'doctor', '--file', file, '--key-file', keyFile]);
  if (doctor.status !== 0) throw new CheckFailure(`doctor: ${doctor.stdout}${doctor.stderr}`);
  return cases.reduce((sum, { signals }) => sum + signals.length, 0);
}

const onTerminal = (line: readonly string[]) => {
  const quoted = line.map((word) => `'${word}'`);
  return ['script', '-qec', `exec ${quoted.join(' ')}`, '/dev/null'];
};

const hasScript = () => process.platform === 'linux' && spawnSync('script', ['--version']).error === undefined;

/** Returns a daemon for all signals that it survives, and one for each other signal; fewer for a sample. */
function casesOf(isOnTerminal: boolean, isSample: boolean): readonly Case[] {
  const all = SIGNALS.map(([signal, without, on]) => [signal, isOnTerminal ? on : without] as const);
  const surviving = all.filter(([, effect]) => STAYS.has(effect));
  const ending = all.filter(([signal, effect]) => {
    return !STAYS.has(effect) && !(isSample && isOnTerminal && signal !== 'SIGHUP' && signal !== 'SIGINT');
  });
  const [first, ...others] = ending;
  return [[...surviving, ...(first ? [first] : [])], ...others.map((one) => [one])].map((signals) => ({
    isOnTerminal,
    signals,
  }));
}

async function send(daemon: DaemonProcess, signal: NodeJS.Signals, effect: Effect, isOnTerminal: boolean) {
  process.kill(daemon.pid, signal);
  if (STAYS.has(effect)) {
    await sleep(SETTLE_MS);
    if (signal === 'SIGTSTP') process.kill(daemon.pid, 'SIGCONT');
    if (!(await isAnswering(daemon.url))) return 'it does not answer';
    const lines = daemon
      .told()
      .split('\n')
      .filter((line) => line.includes(`after ${signal}:`));
    if (lines.length !== (effect === 'reports' ? 1 : 0)) return `${lines.length} lines`;
    return undefined;
  }
  const end = await endWithin(daemon, MAX_END_MS);
  if (effect === 'dies') {
    // `script` ends with 128 plus the number of the signal.
    return end === signal || (isOnTerminal && typeof end === 'number' && end > 128)
      ? undefined
      : `it ended with ${end}`;
  }
  if (end !== 0) return `it ended with ${end}`;
  return daemon.told().includes(`stopping after ${signal}`) ? undefined : 'the signal is not reported';
}

/** Replaces the socket of a daemon by that of a second one, and ends the first. The second socket must stay. */
export async function replaceSocket(bin = VAULT_BIN): Promise<string> {
  using folder = makeMemoryFolder();
  const { file } = await makeVaultFile(folder.path);
  const socket = join(folder.path, 's');
  const serve = (name: string) =>
    startServe({ bin, readyFile: join(folder.path, name), words: ['--no-log', '--file', file, '--socket', socket] });
  const first = await serve('first');
  rmSync(socket);
  const second = await serve('second');
  await endWithin(first, MAX_END_MS, 'SIGTERM');
  const stays = existsSync(socket);
  await endWithin(second, MAX_END_MS, 'SIGTERM');
  if (!stays) throw new CheckFailure('the end of a daemon removed the socket of another one');
  if (existsSync(socket)) throw new CheckFailure('a daemon left its socket');
  return 'kept, then removed';
}

/** Listens on paths around the limit of the system, by the product and by Node. Returns the limit of the product. */
export async function trySocketPaths(bin = VAULT_BIN): Promise<number> {
  using folder = makeMemoryFolder();
  const most = process.platform === 'linux' ? 107 : 103;
  const pathOf = (bytes: number) => join(folder.path, 's'.repeat(bytes - folder.path.length - 1));
  const { file } = await makeVaultFile(folder.path);
  const words = (socket: string) => ['--no-log', '--file', file, '--socket', socket];
  const longest = await startServe({ bin, readyFile: join(folder.path, 'ready'), words: words(pathOf(most)) });
  if ((await endWithin(longest, MAX_END_MS, 'SIGTERM')) !== 0) throw new CheckFailure('the longest path does not work');
  const long = spawnSync(process.execPath, [bin, 'serve', ...words(pathOf(most + 1))], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  if (long.status !== 2 || !long.stderr.includes(`has ${most + 1} bytes, and the system allows ${most}`))
    throw new CheckFailure(`a path of ${most + 1} bytes: ${long.status} ${long.stderr}`);
  // The system itself refuses a path that is two bytes longer, with the final zero.
  const server = createServer();
  const code = await new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    server.listen(pathOf(most + 2), () => resolve('it listens'));
  });
  server.close();
  if (code === 'it listens') throw new CheckFailure(`the system allows more than ${most + 1} bytes`);
  return most;
}
