/** After the start, so that the first calls do not wait. In milliseconds, as is a day. */
const FIRST_MS = 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

interface FileCheckContext {
  /** Resolves to a line for each finding. */
  readonly check: () => Promise<readonly string[]>;
  readonly report: (fact: string) => void;
}

/** Checks the file soon and then once a day, without keeping the process alive. Returns a function that stops it. */
export function startFileCheck({ check, report }: FileCheckContext): () => void {
  let stopped = false;
  const turn = async () => {
    try {
      const findings = await check();
      for (const finding of findings) report(`found in the file: ${finding}`);
    } catch {
      if (!stopped) report('the file could not be checked; trying again in a day');
    }
  };
  const timers = [setTimeout(turn, FIRST_MS).unref(), setInterval(turn, DAY_MS).unref()];
  return () => {
    stopped = true;
    timers.forEach(clearTimeout);
  };
}
