import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { ENVIRONMENT } from './daemon-process.ts';

/** A system call: the `nth` with this name that a process makes on the traced paths. */
export interface SystemCall {
  readonly name: string;
  readonly nth: number;
}

/** How a command ended. `hit` is true when the fault occurred. */
export interface Ended {
  readonly exit: number;
  readonly stderr: string;
  readonly hit: boolean;
}

export interface Traced {
  readonly command: readonly string[];
  /** The paths whose calls are counted and may fail. Other calls are ignored. */
  readonly paths: readonly string[];
  readonly apiKey: string;
  readonly log: string;
}

const MAX_MS = 60_000;

export function assertStrace(): void {
  if (spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0) return;
  throw new Error('system calls cannot be traced: this check needs Linux, strace (apt-get install strace) and ptrace');
}

/** Returns all calls that the command makes on the paths, in no particular order. */
export async function recordCalls(traced: Traced): Promise<readonly SystemCall[]> {
  const { exit, stderr } = await run(traced, ['-e', 'trace=%file,%desc']);
  if (exit !== 0) throw new Error(`the command fails without a fault: ${stderr}`);
  const counts = new Map<string, number>();
  // strace counts per thread, so calls of two threads can share a number.
  for (const [, thread, name = ''] of readFileSync(traced.log, 'latin1').matchAll(/^(\d+) +(\w+)\(/gm)) {
    counts.set(`${thread} ${name}`, (counts.get(`${thread} ${name}`) ?? 0) + 1);
  }
  const most = new Map<string, number>();
  for (const [key, count] of counts) {
    const name = key.split(' ')[1] ?? '';
    most.set(name, Math.max(count, most.get(name) ?? 0));
  }
  return [...most].flatMap(([name, count]) => Array.from({ length: count }, (_, index) => ({ name, nth: index + 1 })));
}

/** Runs the command and makes one call fail with EIO instead of running it. */
export async function failCall(traced: Traced, { name, nth }: SystemCall): Promise<Ended> {
  const ended = await run(traced, [
    '--seccomp-bpf',
    '-e',
    `trace=${name}`,
    '-e',
    `inject=${name}:error=EIO:when=${nth}`,
  ]);
  return { ...ended, hit: readFileSync(traced.log, 'latin1').includes('(INJECTED)') };
}

function run({ command, paths, apiKey, log }: Traced, flags: readonly string[]): Promise<Omit<Ended, 'hit'>> {
  const words = ['-f', '-qq', '-o', log, ...paths.flatMap((path) => ['-P', path]), ...flags, ...command];
  const env = { ...ENVIRONMENT, VAULT_API_KEY: apiKey };
  return new Promise((resolve) => {
    execFile('strace', words, { env, timeout: MAX_MS, killSignal: 'SIGKILL' }, (error, _stdout, stderr) => {
      resolve({ exit: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stderr });
    });
  });
}
