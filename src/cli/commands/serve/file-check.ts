import { clearTimeout, setInterval, setTimeout } from '../../../core/timers.ts';

/** The delay of the first check after the start, in milliseconds. The first calls run before the check. */
const FIRST_MS = 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Checks the vault soon after the start and then daily, without keeping the process alive. `check` resolves to one line
 * for each finding. Returns a function that stops the checks.
 */
export function startFileCheck(check: () => Promise<readonly string[]>, report: (fact: string) => void): () => void {
  let stopped = false;
  const run = async () => {
    try {
      const findings = await check();
      for (const finding of findings) report(`finding in the vault: ${finding}`);
    } catch {
      if (!stopped) report('the check of the vault failed; the next check is in a day');
    }
  };
  const timers = [setTimeout(run, FIRST_MS).unref(), setInterval(run, DAY_MS).unref()];
  return () => {
    stopped = true;
    timers.forEach(clearTimeout);
  };
}
