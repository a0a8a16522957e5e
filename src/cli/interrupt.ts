/** What a signal ends a process with: 128 and its number. */
export const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export type EndSignal = keyof typeof SIGNAL_EXIT_CODES;

/** A Ctrl-C, a terminal that is closed, whoever stops a job. */
export const END_SIGNALS = Object.keys(SIGNAL_EXIT_CODES) as readonly EndSignal[];

/** From here on these signals end the command quietly. What must not stay behind is removed when the process exits. */
export function endAtSignals(): void {
  for (const signal of END_SIGNALS) process.on(signal, exit);
}

/** From here on somebody else sees to them. */
export function takeSignals(): void {
  for (const signal of END_SIGNALS) process.off(signal, exit);
}

function exit(signal: EndSignal): never {
  process.exit(SIGNAL_EXIT_CODES[signal]);
}
