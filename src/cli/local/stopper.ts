import type { ExitCode } from '../exit-codes.ts';
import { exitUnexpected } from '../exit-unexpected.ts';
import { exitInterrupted } from '../interrupt.ts';
import { ownStandardError } from '../output/write-error.ts';
import { tell } from '../report-failure.ts';
import { errorCode } from '../text-reader.ts';

const GRACE_MS = 9_500;
const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

/** Waits for what ends a daemon: a signal, or an error that nobody caught. */
export interface Stopper {
  /** Runs `stop` when it is time, and resolves with the exit code: 0 after a signal, 70 after a bug. */
  until(stop: () => Promise<void>): Promise<ExitCode>;
}

/**
 * From here on the first SIGTERM or SIGINT stops the daemon in order, within 10 s; the second ends the process at once.
 */
export function createStopper(): Stopper {
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
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => (requested === undefined ? request(0) : process.exit(128 + SIGNAL_NUMBERS[signal])));
  }
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
