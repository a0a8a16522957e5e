import { printHeldError, reportFailure } from './report-failure.ts';

/** The exit codes after signals: 128 plus the number of the signal. */
export const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export type EndSignal = keyof typeof SIGNAL_EXIT_CODES;

export const isSignalExit = (code: number) => Object.values<number>(SIGNAL_EXIT_CODES).includes(code);

/** The signals that end a command: a closed terminal, Ctrl-C, a stopped job. */
export const END_SIGNALS = Object.keys(SIGNAL_EXIT_CODES) as readonly EndSignal[];

/** Makes END_SIGNALS end the command without a message from now on. The exit removes temporary files. */
export function endAtSignals(): void {
  for (const signal of END_SIGNALS) process.on(signal, exit);
}

/** Stops handling END_SIGNALS, so that the caller can handle them. */
export function takeSignals(): void {
  for (const signal of END_SIGNALS) process.off(signal, exit);
}

/**
 * Lets a first signal of END_SIGNALS only abort `signal`, so that the caller can end its work. `end` then ends the
 * command. A second signal ends it at once.
 */
export function interruptible(): { readonly signal: AbortSignal; readonly end: () => void } {
  const controller = new AbortController();
  let sent: EndSignal | undefined;
  const stop = (signal: EndSignal) => {
    sent = signal;
    for (const name of END_SIGNALS) process.off(name, stop);
    endAtSignals();
    controller.abort();
  };
  takeSignals();
  for (const name of END_SIGNALS) process.on(name, stop);
  return {
    signal: controller.signal,
    end() {
      if (sent !== undefined) exit(sent);
    },
  };
}

let reads = 0;

/**
 * Lets END_SIGNALS kill the process until the returned function is called. Use it for a read that may wait for another
 * process: the read blocks a thread, and `process.exit` would wait for that thread.
 */
export function endBySignals(): () => void {
  reads += 1;
  return () => {
    reads -= 1;
  };
}

function exit(signal: EndSignal): void {
  const code = SIGNAL_EXIT_CODES[signal];
  if (reads === 0) process.exit(code);
  takeSignals();
  // Listeners of this event remove temporary files.
  process.emit('exit', code);
  process.kill(process.pid, signal);
}

/**
 * Reports an uncaught error and exits. Node's own report would print a long line of the bundle, and a message that may
 * contain a value.
 */
export function exitUnexpected(error: unknown): void {
  const exitCode = reportFailure(error, process.env);
  printHeldError();
  process.exit(exitCode);
}
