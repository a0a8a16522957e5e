/** The exit code after a signal: 128 and its number. */
export const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export type EndSignal = keyof typeof SIGNAL_EXIT_CODES;

export const isSignalExit = (code: number) => Object.values<number>(SIGNAL_EXIT_CODES).includes(code);

/** Ctrl-C, a closed terminal, a stopped job. */
export const END_SIGNALS = Object.keys(SIGNAL_EXIT_CODES) as readonly EndSignal[];

/** Makes these signals end the command quietly from now on. The exit removes temporary files. */
export function endAtSignals(): void {
  for (const signal of END_SIGNALS) process.on(signal, exit);
}

/** Leaves signals to the caller from now on. */
export function takeSignals(): void {
  for (const signal of END_SIGNALS) process.off(signal, exit);
}

let reads = 0;

/**
 * For a read that may wait for another process: it blocks a thread, and `process.exit` would wait for that thread.
 * Until the returned function is called, these signals kill the process by default.
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
 * Ends a command after an uncaught error. Node would print the source line, which is part of a bundle, and the message,
 * which may hold a value.
 */
export function exitUnexpected(error: unknown): void {
  void import('./report-failure.ts').then(
    ({ reportFailure }) => process.exit(reportFailure(error, process.env)),
    () => process.exit(1),
  );
}
