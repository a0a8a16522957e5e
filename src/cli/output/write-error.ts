let isOwned = false;

/** Writes to stderr. Whoever read it may have gone: what is said then is lost, and the work goes on. */
export function writeError(text: string): void {
  ownStandardError();
  process.stderr.write(text);
}

/** From here on a closed stderr ends nothing: not a command that says a word, not a daemon that writes its log. */
export function ownStandardError(): void {
  if (isOwned) return;
  isOwned = true;
  process.stderr.on('error', () => undefined);
}
