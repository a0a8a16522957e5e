/** The delay of the first check after the start, in milliseconds. The first calls run before the check. */
const FIRST_MS = 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

interface FileCheckContext {
  /** Resolves to one line for each finding. */
  readonly check: () => Promise<readonly string[]>;
  readonly report: (fact: string) => void;
}

/**
 * Checks the vault soon after the start and then daily, without keeping the process alive. Returns a function that
 * stops the checks.
 */
export function startFileCheck({ check, report }: FileCheckContext): () => void {
  let stopped = false;
  const turn = async () => {
    try {
      const findings = await check();
      for (const finding of findings) report(`finding in the vault: ${finding}`);
    } catch {
      if (!stopped) report('the check of the vault failed; the next check is in a day');
    }
  };
  const timers = [setTimeout(turn, FIRST_MS).unref(), setInterval(turn, DAY_MS).unref()];
  return () => {
    stopped = true;
    timers.forEach(clearTimeout);
  };
}
