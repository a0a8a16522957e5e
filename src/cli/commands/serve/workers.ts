import cluster, { type Worker } from 'node:cluster';
import type { VaultSettings } from '../../../vault/vault.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { END_SIGNALS } from '../../interrupt.ts';
import { report } from '../../report-failure.ts';
import type { Stopper, StopRequests } from './stopper.ts';

/** Milliseconds after the order to stop until a hanging worker is killed. */
const KILL_MS = 10_000;

/** The number of the worker that starts first: `cluster` counts from 1. */
const FIRST = 1;

/**
 * `vault serve --workers`: starts `workers` copies of this command line and waits for their end. The supervisor accepts
 * connections and distributes them in turn. It passes sealed records to the first worker, which writes for all; it sees
 * no requests and no keys. When one worker ends, all end. Calls `announce` once, when all accept requests. Resolves
 * with the exit code: that of a worker that could not start, 0 after a signal, 70 after a bug, 1 after the death of a
 * worker.
 */
export async function supervise(
  workers: number,
  untilStopped: Stopper,
  announce: (url: string) => Promise<void>,
): Promise<ExitCode> {
  const crew = createCrew();
  // Kill the workers however this process ends: by a second signal, an error or a timeout.
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
    untilStopped(() => crew.stop()),
    crew.lost.then((exitCode) => crew.stop().then(() => exitCode)),
  ]);
}

/**
 * Starts the first worker alone: most errors stop all workers, and this way they are reported once. Resolves to the
 * URL.
 */
async function startAll(crew: Crew, workers: number): Promise<string> {
  const url = await crew.start();
  await Promise.all(Array.from({ length: workers - 1 }, () => crew.start()));
  return url;
}

type Crew = ReturnType<typeof createCrew>;

/** Keeps track of the running workers. */
function createCrew() {
  // On Windows Node's default differs: all workers accept, and one usually gets most connections.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  // Allow bytes in messages.
  cluster.setupPrimary({ serialization: 'advanced' });
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
    if (worker.id === FIRST) tell(LOST);
    if (stopped !== undefined) {
      releaseFirst();
      return;
    }
    const hasServed = serving.has(worker);
    // The worker has already reported why it did not start.
    if (hasServed || !isExitCode(code)) {
      report(`worker ${worker.process.pid} ended (${signal ?? `exit code ${code}`}): stopping the others`);
    }
    onLost(isExitCode(code) && (!hasServed || code === 70) ? code : 1);
  }

  async function stop(): Promise<void> {
    const allEnded = new Promise<void>((resolve) => {
      onLastEnd = resolve;
    });
    for (const worker of living) if (!serving.has(worker)) worker.process.kill('SIGKILL');
    tell(STOP);
    releaseFirst();
    const patience = setTimeout(kill, KILL_MS);
    if (living.size > 0) await allEnded;
    clearTimeout(patience);
  }

  function tell(message: string): void {
    for (const worker of living) worker.send(message, () => undefined);
  }

  /** The first worker closes the file last: it makes the last writes of the others. */
  function releaseFirst(): void {
    if ([...living].every(({ id }) => id === FIRST)) tell(RELEASE);
  }

  function kill(): void {
    for (const worker of living) worker.process.kill('SIGKILL');
  }

  return {
    /** Resolves to its URL when the new worker accepts requests. Stays pending if it never does. */
    start: () =>
      new Promise<string>((resolve) => {
        const worker = cluster.fork();
        living.add(worker);
        worker.on('message', (message: WorkerListens | Letter) => {
          if ('url' in message) {
            serving.add(worker);
            resolve(message.url);
          } else {
            const letter: Letter = { peer: worker.id, message: message.message };
            cluster.workers?.[message.peer]?.send(letter, () => undefined);
          }
        });
        worker.on('exit', (code: number | null, signal: string | null) => ended(worker, code, signal));
      }),
    /** Resolves with the exit code when a worker ended without an order. */
    lost,
    /** Stops all workers in order, and starting ones at once. */
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
    kill,
  };
}

/** Returns whether a code is an exit code other than 0: a worker that ends without an order cannot report success. */
function isExitCode(code: number | null): code is ExitCode {
  return code !== null && code !== 0 && Object.hasOwn(EXIT_CODES, code);
}

/** Sent by the supervisor to a worker that should stop in order. */
const STOP = 'stop';

/** Sent to the first stopping worker when the others have ended. */
const RELEASE = 'release';

/** Sent when the first worker has ended. */
const LOST = 'lost';

/**
 * A message to another worker, which the supervisor forwards. `peer` is the receiver on the way in and the sender on
 * the way out.
 */
interface Letter {
  readonly peer: number;
  readonly message: unknown;
}

/** Sent once by a worker to the supervisor: it accepts requests. */
interface WorkerListens {
  readonly url: string;
}

/** The place of this process among the workers of `vault serve --workers`. */
export interface WorkerPost {
  /** Only this worker sweeps: expired records need to be removed once. */
  readonly isFirst: boolean;
  /** The supervisor reports the error, or has gone. */
  readonly stopRequests: StopRequests;
  listens(url: string): void;
  readonly relay: NonNullable<VaultSettings['relay']>;
  /**
   * Resolves when no other worker sends writes: at once, unless the supervisor is stopping this worker and it is the
   * first.
   */
  released(): Promise<void>;
  /** Lets this process end when it has nothing to do. */
  leave(): void;
}

/**
 * Returns undefined in every other process. Workers ignore signals from now on: a Ctrl-C or a service manager reaches
 * the supervisor, too, which stops them.
 */
export function workerPost(): WorkerPost | undefined {
  const { worker } = cluster;
  if (worker === undefined) return undefined;
  for (const signal of END_SIGNALS) process.on(signal, () => undefined);
  const isFirst = worker.id === FIRST;
  let isStopping = false;
  const onOrder = (order: string, listener: () => void) =>
    process.on('message', (message) => {
      if (message === order) listener();
    });
  const released = new Promise<void>((resolve) => {
    onOrder(RELEASE, resolve);
    worker.on('disconnect', resolve);
  });
  return {
    isFirst,
    relay: {
      isFirst,
      send: (peer, message) => void worker.send({ peer, message } satisfies Letter, () => undefined),
      onMessage: (listener) =>
        void process.on('message', (letter: string | Letter) => {
          if (typeof letter === 'object') listener(letter.peer, letter.message);
        }),
      onLost: (listener) => {
        onOrder(LOST, listener);
        worker.on('disconnect', listener);
      },
    },
    released: () => (isFirst && isStopping ? released : Promise.resolve()),
    stopRequests: (ask) => {
      onOrder(STOP, () => {
        isStopping = true;
        ask();
      });
      worker.on('disconnect', () => {
        // Otherwise Node would end the process here, with open requests.
        worker.exitedAfterDisconnect = true;
        ask();
      });
    },
    listens: (url) => {
      const message: WorkerListens = { url };
      // A lost supervisor shows as a disconnection.
      worker.send(message, () => undefined);
    },
    leave: () => process.channel?.unref(),
  };
}
