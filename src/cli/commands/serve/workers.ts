import cluster, { type Worker } from 'node:cluster';
import { clearTimeout, setTimeout } from '../../../core/timers.ts';
import type { CollectedMetrics } from '../../../http/metrics.ts';
import type { VaultSettings } from '../../../vault/vault.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { END_SIGNALS } from '../../interrupt.ts';
import { report } from '../../report-failure.ts';
import type { Stopper, StopRequests } from './stopper.ts';
import { type onWorkSignals, type SignalWork, WORK_SIGNALS, type WorkSignal } from './work-signals.ts';

/** How long the workers may take to stop before they are killed, in milliseconds. */
const KILL_MS = 10_000;

/** How long the workers may take to send their metrics, in milliseconds. */
const METRICS_MS = 3_000;

/** The number of the worker that starts first, because `cluster` counts from 1. */
const FIRST = 1;

/**
 * Runs the supervisor of `vault serve --workers`: starts `workers` copies of this command line and waits for their end.
 * The supervisor distributes connections to the workers in turn. It passes sealed records to the first worker, which
 * writes for all workers. It sees no requests and no keys. When one worker ends, the supervisor stops the others. Calls
 * `announce` once, when all workers accept requests, with their URL and a function that collects their metrics. Then
 * forwards signals to the first worker, and to the others once the first has done its work, so that a failure is
 * reported only once. Resolves to the exit code: that of a worker that could not start, 0 after a signal, 70 after a
 * bug, 1 after the death of a worker.
 */
export async function supervise(
  workers: number,
  untilStopped: Stopper,
  startWork: ReturnType<typeof onWorkSignals>,
  announce: (url: string, collect: () => Promise<readonly CollectedMetrics[]>) => Promise<void>,
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
    await announce(url, crew.collect);
    startWork(async (signal) => {
      crew.passOn(signal);
      return true;
    });
  } catch (error) {
    await crew.stop();
    throw error;
  }
  return Promise.race([
    untilStopped(() => crew.stop()),
    crew.lost.then((exitCode) => crew.stop().then(() => exitCode)),
  ]);
}

/** Starts the first worker and then the others, so that a common error is reported once. Resolves to the URL. */
async function startAll(crew: ReturnType<typeof createCrew>, workers: number): Promise<string> {
  const url = await crew.start();
  await Promise.all(Array.from({ length: workers - 1 }, () => crew.start()));
  return url;
}

/** Returns functions that start, track and stop the workers. */
function createCrew() {
  // Node's default on Windows lets all workers accept connections, and one worker usually gets most of them.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  // Allow bytes in messages.
  cluster.setupPrimary({ serialization: 'advanced' });
  const living = new Set<Worker>();
  const serving = new Set<Worker>();
  /** The functions that receive the metrics of a worker, in the order of the questions. */
  const asked = new Map<Worker, ((metrics: CollectedMetrics) => void)[]>();
  let stopped: Promise<void> | undefined;
  let onLastEnd: () => void = () => undefined;
  const { promise: lost, resolve: onLost } = Promise.withResolvers<ExitCode>();

  function ended(worker: Worker, code: number | null, signal: string | null): void {
    living.delete(worker);
    if (living.size === 0) onLastEnd();
    if (worker.id === FIRST) send(LOST);
    if (stopped !== undefined) {
      releaseFirst();
      return;
    }
    const hasServed = serving.has(worker);
    // A worker that could not start has already reported the reason.
    if (hasServed || !isExitCode(code)) {
      report(`worker ${worker.process.pid} ended (${signal ?? `exit code ${code}`}): stopping the others`);
    }
    onLost(isExitCode(code) && (!hasServed || code === 70) ? code : 1);
  }

  async function stop(): Promise<void> {
    const { promise: allEnded, resolve } = Promise.withResolvers<void>();
    onLastEnd = resolve;
    for (const worker of living) if (!serving.has(worker)) worker.process.kill('SIGKILL');
    send(STOP);
    releaseFirst();
    const patience = setTimeout(kill, KILL_MS);
    if (living.size > 0) await allEnded;
    clearTimeout(patience);
  }

  function send(message: string, to: Iterable<Worker> = living): void {
    for (const worker of to) worker.send(message, () => undefined);
  }

  const first = () => [...living].filter(({ id }) => id === FIRST);
  const others = () => [...living].filter(({ id }) => id !== FIRST);

  /** Lets the first worker end if it is the only one left. It ends last, because it writes for the others. */
  function releaseFirst(): void {
    if (others().length === 0) send(RELEASE);
  }

  function askMetrics(worker: Worker): Promise<CollectedMetrics> {
    return new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error('a worker does not answer')), METRICS_MS).unref();
      asked.set(worker, [...(asked.get(worker) ?? []), resolve]);
      send(METRICS, [worker]);
    });
  }

  function kill(): void {
    for (const worker of living) worker.process.kill('SIGKILL');
  }

  return {
    /** Starts a worker. Resolves to its URL when the worker accepts requests; stays pending if it never does. */
    start: () =>
      new Promise<string>((resolve) => {
        const worker = cluster.fork();
        living.add(worker);
        worker.on('message', (message: WorkerMessage) => {
          if ('done' in message) {
            send(message.done, others());
          } else if ('url' in message) {
            serving.add(worker);
            resolve(message.url);
          } else if ('metrics' in message) {
            asked.get(worker)?.shift()?.(message.metrics);
          } else {
            const letter: Letter = { peer: worker.id, message: message.message };
            cluster.workers?.[message.peer]?.send(letter, () => undefined);
          }
        });
        worker.on('exit', (code: number | null, signal: string | null) => ended(worker, code, signal));
      }),
    /** Lets the first worker do the work of a signal. */
    passOn: (signal: WorkSignal) => send(signal, first()),
    /** Resolves to the metrics of all workers. Rejects when one does not answer. */
    collect: () => Promise.all([...living].map(askMetrics)),
    /** Resolves to the exit code when a worker ends without a request to stop. */
    lost,
    /** Stops all workers in order. Kills workers that are still starting. */
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
    kill,
  };
}

/** Returns whether a code is one of our exit codes but not 0: a worker that was not stopped cannot report success. */
function isExitCode(code: number | null): code is ExitCode {
  return code !== null && code !== 0 && Object.hasOwn(EXIT_CODES, code);
}

/** Sent by the supervisor to a worker that should stop in order. */
const STOP = 'stop';

/** Sent by the supervisor to the first worker, which is stopping, when the other workers have ended. */
const RELEASE = 'release';

/** Sent by the supervisor to the other workers when the first worker has ended. */
const LOST = 'lost';

/** Sent by the supervisor to a worker that should send its metrics. */
const METRICS = 'metrics';

/**
 * A message to another worker, which the supervisor forwards. `peer` is the receiver when a worker sends it, and the
 * sender when the supervisor forwards it.
 */
interface Letter {
  readonly peer: number;
  readonly message: unknown;
}

/** A message of a worker to the supervisor. */
type WorkerMessage =
  /** Sent once, when the worker accepts requests. */
  | { readonly url: string }
  /** Sent by the first worker when it has done the work of a signal. */
  | { readonly done: WorkSignal }
  /** Sent after each message METRICS. */
  | { readonly metrics: CollectedMetrics }
  | Letter;

/** The role of this process as a worker of `vault serve --workers`. */
export type WorkerPost = NonNullable<ReturnType<typeof workerPost>>;

/**
 * Returns the role of this process as a worker; undefined if it is not a worker. A worker ignores signals from then on:
 * a Ctrl-C or a service manager also reaches the supervisor, which stops the workers.
 */
export function workerPost() {
  const { worker } = cluster;
  if (worker === undefined) return undefined;
  for (const signal of [...END_SIGNALS, ...WORK_SIGNALS]) process.on(signal, () => undefined);
  const isFirst = worker.id === FIRST;
  let isStopping = false;
  // Ignore a failure: the event `disconnect` reports that the supervisor has ended.
  const send = (message: WorkerMessage) => void worker.send(message, () => undefined);
  const onOrder = (order: string, listener: () => void) =>
    process.on('message', (message) => {
      if (message === order) listener();
    });
  const released = new Promise<void>((resolve) => {
    onOrder(RELEASE, resolve);
    worker.on('disconnect', resolve);
  });
  const relay: NonNullable<VaultSettings['relay']> = {
    isFirst,
    send: (peer, message) => send({ peer, message }),
    onMessage: (listener) =>
      void process.on('message', (letter: string | Letter) => {
        if (typeof letter === 'object') listener(letter.peer, letter.message);
      }),
    onLost: (listener) => {
      onOrder(LOST, listener);
      worker.on('disconnect', listener);
    },
  };
  return {
    /** Whether this is the first worker. Only the first worker removes expired records. */
    isFirst,
    relay,
    /**
     * Resolves when no other worker sends writes to this one. Resolves at once unless this is the first worker and the
     * supervisor is stopping it.
     */
    released: () => (isFirst && isStopping ? released : Promise.resolve()),
    /** Requests a stop when the supervisor sends STOP or has ended. */
    stopRequests: (ask: Parameters<StopRequests>[0]) => {
      onOrder(STOP, () => {
        isStopping = true;
        ask();
      });
      worker.on('disconnect', () => {
        // Without this line, Node would end the process here, with open requests.
        worker.exitedAfterDisconnect = true;
        ask();
      });
    },
    /** Does the work of the signals that the supervisor passes on. Call it before `listens`. */
    startWork: (work: SignalWork) => {
      for (const signal of WORK_SIGNALS) {
        onOrder(signal, async () => {
          if ((await work(signal)) && isFirst) send({ done: signal });
        });
      }
    },
    /** Reports that the worker accepts requests. With `collect`, sends its metrics whenever the supervisor asks. */
    listens: (url: string, collect: (() => Promise<CollectedMetrics>) | undefined) => {
      if (collect !== undefined) onOrder(METRICS, async () => send({ metrics: await collect() }));
      send({ url });
    },
    /** Lets this process end when it has nothing to do. */
    leave: () => process.channel?.unref(),
  };
}
