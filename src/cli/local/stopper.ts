import { errorCode } from '../error-code.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitUnexpected } from '../exit-unexpected.ts';
import { exitInterrupted } from '../interrupt.ts';
import { ownStandardError } from '../output/write-error.ts';
import { tell } from '../report-failure.ts';

const GRACE_MS = 9_500;
const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** Waits for what ends a daemon: somebody who asks for it, or an error that nobody caught. */
export interface Stopper {
  /** Runs `stop` when it is time, and resolves with the exit code: 0 when it was asked for, 70 after a bug. */
  until(stop: () => Promise<void>): Promise<ExitCode>;
}

/**
 * Calls `ask` each time that somebody wants the daemon to end. With a number the process ends at once with it where the
 * daemon stops already; without one nothing more comes of that.
 */
export type StopRequests = (ask: (again?: number) => void) => void;

/** These signals ask. */
export function stopSignals(...signals: readonly (keyof typeof SIGNAL_NUMBERS)[]): StopRequests {
  return (ask) => {
    for (const signal of signals) process.on(signal, () => ask(128 + SIGNAL_NUMBERS[signal]));
  };
}

/**
 * From here on the first request, by default a SIGTERM or SIGINT, stops the daemon in order, within 10 s; the second signal
 * ends the process at once.
 */
export function createStopper(requests: StopRequests = stopSignals('SIGINT', 'SIGTERM')): Stopper {
  let requested: ExitCode | undefined;
  let wake: (exitCode: ExitCode) => void = (exitCode) => process.exit(exitCode);
  const request = (exitCode: ExitCode): void => {
    requested = exitCode;
    setTimeout(() => process.exit(exitCode), GRACE_MS).unref();
    wake(exitCode);
  };
  ownStandardError();
  process.off('SIGINT', exitInterrupted);
  process.off('uncaughtException', exitUnexpected);
  requests((again) => {
    if (requested === undefined) request(0);
    else if (again !== undefined) process.exit(again);
  });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      tell(`stopping after an uncaught error (${errorCode(error)})`);
      if (requested === undefined) request(70);
    });
  }
  return {
    async until(stop) {
      const exitCode = await new Promise<ExitCode>((resolve) => {
        wake = resolve;
      });
      await stop();
      return exitCode;
    },
  };
}
