import cluster from 'node:cluster';
import { END_SIGNALS } from '../interrupt.ts';
import type { StopRequests } from './stopper.ts';

/** What the supervisor sends to a worker that is to stop in order. */
export const STOP = 'stop';

/** What a worker sends to the supervisor, once: it accepts requests. */
export interface WorkerListens {
  readonly url: string;
}

/** The place of this process among the workers of `vault serve --workers`. */
export interface WorkerPost {
  /** It alone sweeps: what has expired needs to be removed once. */
  readonly isFirst: boolean;
  /** The supervisor says so, or is there no more. */
  readonly stopRequests: StopRequests;
  listens(url: string): void;
  /** From here on this process ends as soon as it has nothing to do. */
  leave(): void;
}

/**
 * Undefined in every other process. From here on signals end no worker: they are for the supervisor, and a Ctrl-C on a
 * terminal, or a service manager, sends them to both.
 */
export function workerPost(): WorkerPost | undefined {
  const { worker } = cluster;
  if (worker === undefined) return undefined;
  for (const signal of END_SIGNALS) process.on(signal, () => undefined);
  return {
    isFirst: worker.id === 1,
    stopRequests: (ask) => {
      process.on('message', (message) => {
        if (message === STOP) ask();
      });
      worker.on('disconnect', () => {
        // Else Node ends the process here, with requests under way.
        worker.exitedAfterDisconnect = true;
        ask();
      });
    },
    listens: (url) => {
      const message: WorkerListens = { url };
      // A supervisor that has gone is noticed by the disconnection.
      worker.send(message, () => undefined);
    },
    leave: () => process.channel?.unref(),
  };
}
