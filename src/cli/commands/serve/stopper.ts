import { setTimeout } from '../../../core/timers.ts';
import { reasonOf } from '../../exit/error-reason.ts';
import type { ExitCode } from '../../exit/exit-codes.ts';
import { END_SIGNALS, type EndSignal, exitUnexpected, SIGNAL_EXIT_CODES, takeSignals } from '../../exit/interrupt.ts';
import { ownStandardError, report } from '../../exit/report-failure.ts';

const GRACE_MS = 9_500;

/**
 * Calls `ask` for each request to stop the daemon, with the signal if there is one. If the daemon is already stopping,
 * a signal ends the process at once, and any other request has no effect.
 */
type StopRequests = (ask: (signal?: EndSignal) => void) => void;

/** Returns the requests of SIGTERM, SIGINT and SIGHUP, without the signals in `except`. */
export function stopSignals(except: readonly string[]): StopRequests {
  const signals: readonly EndSignal[] = END_SIGNALS.filter((signal) => !except.includes(signal));
  return (ask) => {
    for (const signal of signals) process.on(signal, () => ask(signal));
  };
}

/**
 * Returns a function that waits for a stop request or an uncaught error, and then runs `stop`. It resolves to the exit
 * code: 0 after a request, 70 after an error. The first request stops the daemon in order, within 10 s. A second signal
 * ends it at once. Reports each signal.
 */
export function createStopper(requests: StopRequests) {
  let requested: ExitCode | undefined;
  let wake: (exitCode: ExitCode) => void = (exitCode) => process.exit(exitCode);
  const request = (exitCode: ExitCode): void => {
    requested = exitCode;
    setTimeout(() => process.exit(exitCode), GRACE_MS).unref();
    wake(exitCode);
  };
  ownStandardError();
  takeSignals();
  process.off('uncaughtException', exitUnexpected);
  requests((signal) => {
    const isFirst = requested === undefined;
    if (signal !== undefined) report(`stopping${isFirst ? '' : ' at once'} after ${signal}`);
    if (isFirst) request(0);
    else if (signal !== undefined) process.exit(SIGNAL_EXIT_CODES[signal]);
  });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      report(`stopping after an uncaught error (${reasonOf(error)})`);
      if (requested === undefined) request(70);
    });
  }
  return async (stop: () => Promise<void>): Promise<ExitCode> => {
    const exitCode = await new Promise<ExitCode>((resolve) => {
      wake = resolve;
    });
    await stop();
    return exitCode;
  };
}
