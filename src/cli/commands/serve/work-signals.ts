import { isatty } from 'node:tty';
import { report } from '../../exit/report-failure.ts';

/**
 * The signals for work that does not stop the daemon: SIGHUP reloads the certificate and the log file, SIGUSR2 only the
 * log file.
 */
const WORK_SIGNALS = ['SIGHUP', 'SIGUSR2'] as const;

type WorkSignal = (typeof WORK_SIGNALS)[number];

const STANDARD = [0, 1, 2] as const;

/**
 * Returns the work signals that a daemon handles. On a terminal, SIGHUP means that the window was closed, so it stops
 * the daemon. Windows has no such signals.
 */
export function workSignals(): readonly WorkSignal[] {
  if (process.platform === 'win32') return [];
  return STANDARD.some(isatty) ? WORK_SIGNALS.filter((signal) => signal !== 'SIGHUP') : WORK_SIGNALS;
}

/** Functions that reload something, and report it or a failure. */
interface Reloads {
  readonly certificate: (() => Promise<void>) | undefined;
  readonly log: (() => void) | undefined;
}

async function reload(signal: WorkSignal, { certificate, log }: Reloads): Promise<void> {
  const all = [...(signal === 'SIGHUP' ? [certificate] : []), log].filter((each) => each !== undefined);
  if (all.length === 0) {
    report(
      `nothing to reload after ${signal}: there is no --log-file${signal === 'SIGHUP' ? ' and no --tls-cert' : ''}`,
    );
  }
  for (const each of all) await each();
}

/**
 * Handles the signals from now on. The returned function starts the work, including the work for signals that have
 * already arrived. Signals are handled one at a time.
 */
export function onWorkSignals(signals: readonly WorkSignal[]): (reloads: Reloads) => void {
  const { promise, resolve } = Promise.withResolvers<Reloads>();
  let last: Promise<unknown> = promise;
  for (const signal of signals) {
    process.on(signal, () => {
      last = last.then(async () => reload(signal, await promise));
    });
  }
  return resolve;
}
