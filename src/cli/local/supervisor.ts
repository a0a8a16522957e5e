import cluster, { type Worker } from 'node:cluster';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { tell } from '../report-failure.ts';
import type { Stopper } from './stopper.ts';
import { STOP, type WorkerListens } from './worker-post.ts';

/** From the order to stop until a worker that does not is killed; it ends itself before, unless it hangs. */
const KILL_MS = 10_000;

export interface Supervision {
  /** How many, at least 2. */
  readonly workers: number;
  readonly stopper: Stopper;
  /** Called once, when all workers accept requests. */
  readonly announce: (url: string) => Promise<void>;
}

/**
 * `vault serve --workers`: starts this command line as often as `workers` says, and waits for the end. It accepts the
 * connections and deals them out in turn; requests and keys it never sees. The vault is served by all workers or by none:
 * when one ends, so do the others. Resolves with the exit code: what kept a worker from starting, 0 after a signal, 70 after
 * a bug, 1 after the death of a worker.
 */
export async function supervise({ workers, stopper, announce }: Supervision): Promise<ExitCode> {
  const crew = createCrew();
  // However this process ends: the second signal, an error, the end of its patience.
  process.on('exit', () => crew.kill());
  const url = await Promise.race([startAll(crew, workers), crew.lost]);
  if (typeof url === 'number') {
    await crew.stop();
    return url;
  }
  try {
    await announce(url);
  } catch (error) {
    await crew.stop();
    throw error;
  }
  return Promise.race([
    stopper.until(() => crew.stop()),
    crew.lost.then((exitCode) => crew.stop().then(() => exitCode)),
  ]);
}

/** What keeps one from starting mostly keeps all: the first goes ahead, so that it is told once. Resolves to the URL. */
async function startAll(crew: Crew, workers: number): Promise<string> {
  const url = await crew.start();
  await Promise.all(Array.from({ length: workers - 1 }, () => crew.start()));
  return url;
}

/** The workers that live. */
interface Crew {
  /** Resolves to its URL when the new worker accepts requests; never, when it does not come to that. */
  start(): Promise<string>;
  /** Resolves with the exit code when a worker has ended that was not told to. */
  readonly lost: Promise<ExitCode>;
  /** Stops all in order; those that do not serve yet at once. */
  stop(): Promise<void>;
  kill(): void;
}

function createCrew(): Crew {
  // Node's default on Windows is another: there all workers accept, and mostly one gets the connections.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  const living = new Set<Worker>();
  const serving = new Set<Worker>();
  let stopped: Promise<void> | undefined;
  let onLost: (exitCode: ExitCode) => void;
  let onLastEnd: () => void = () => undefined;
  const lost = new Promise<ExitCode>((resolve) => {
    onLost = resolve;
  });

  function ended(worker: Worker, code: number | null, signal: string | null): void {
    living.delete(worker);
    if (living.size === 0) onLastEnd();
    if (stopped !== undefined) return;
    const hasServed = serving.has(worker);
    // What kept it from starting, the worker has told itself.
    if (hasServed || !isExitCode(code)) {
      tell(`worker ${worker.process.pid} ended (${signal ?? `exit code ${code}`}): stopping the others`);
    }
    onLost(isExitCode(code) && (!hasServed || code === 70) ? code : 1);
  }

  async function stop(): Promise<void> {
    const allEnded = new Promise<void>((resolve) => {
      onLastEnd = resolve;
    });
    for (const worker of living) {
      if (serving.has(worker)) worker.send(STOP, () => undefined);
      else worker.process.kill('SIGKILL');
    }
    const patience = setTimeout(kill, KILL_MS);
    if (living.size > 0) await allEnded;
    clearTimeout(patience);
  }

  function kill(): void {
    for (const worker of living) worker.process.kill('SIGKILL');
  }

  return {
    start: () =>
      new Promise((resolve) => {
        const worker = cluster.fork();
        living.add(worker);
        worker.on('message', ({ url }: WorkerListens) => {
          serving.add(worker);
          resolve(url);
        });
        worker.on('exit', (code: number | null, signal: string | null) => ended(worker, code, signal));
      }),
    lost,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
    kill,
  };
}

/** 0 is none: a worker that was not told to end has no reason to say that all is done. */
function isExitCode(code: number | null): code is ExitCode {
  return code !== null && code !== 0 && Object.hasOwn(EXIT_CODES, code);
}
