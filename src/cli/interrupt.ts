/** Ctrl-C ends a command quietly. What must not stay behind is removed when the process exits. */
export function exitInterrupted(): never {
  process.exit(130);
}
