import type { ServeOptions } from './serve-options.ts';

/** The signals for work that does not stop the daemon: SIGHUP reloads the certificate, SIGUSR2 reopens the log file. */
export const WORK_SIGNALS = ['SIGHUP', 'SIGUSR2'] as const;

export type WorkSignal = (typeof WORK_SIGNALS)[number];

/** Does the work of a signal, and reports a failure. Resolves to whether the work was done. */
export type SignalWork = (signal: WorkSignal) => Promise<boolean>;

/**
 * Returns the work signals that a daemon with these options handles. On a terminal and on Windows, SIGHUP means that
 * the window was closed, so it stops the daemon.
 */
export function workSignals({ tls, logFile }: Pick<ServeOptions, 'tls' | 'logFile'>): readonly WorkSignal[] {
  if (process.platform === 'win32') return [];
  const isWork = { SIGHUP: tls !== undefined && !process.stderr.isTTY, SIGUSR2: logFile !== undefined };
  return WORK_SIGNALS.filter((signal) => isWork[signal]);
}

/**
 * Handles the signals from now on. The returned function starts the work, including the work for signals that have
 * already arrived. Signals are handled one at a time.
 */
export function onWorkSignals(signals: readonly WorkSignal[]): (work: SignalWork) => void {
  const { promise, resolve } = Promise.withResolvers<SignalWork>();
  let last: Promise<unknown> = promise;
  for (const signal of signals) {
    process.on(signal, () => {
      last = last.then(async () => (await promise)(signal));
    });
  }
  return resolve;
}
