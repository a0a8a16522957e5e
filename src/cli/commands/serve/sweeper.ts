import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../../core/timers.ts';

const MINUTE = 60_000;

/** The parts of the vault and the log that the sweeper uses. */
export interface SweeperContext {
  readonly sweep: () => Promise<unknown>;
  readonly notices: () => Promise<readonly string[]>;
  readonly report: (fact: string) => void;
  /** The notices that were reported at the start. */
  readonly reported?: readonly string[] | undefined;
  /** Moves old audit entries to an archive. Never rejects. */
  readonly prune?: (() => Promise<void>) | undefined;
}

/**
 * Removes expired tokens every minute, but not while the last sweep still runs, and then prunes the audit. Also reports
 * the vault's notices, such as a clock in doubt, once when they appear and once when they disappear. Does not keep the
 * process alive. Returns a function that stops the sweeper.
 */
export function startSweeper({ sweep, notices, report, reported: first = [], prune }: SweeperContext): () => void {
  let reported = first;
  let isRunning = false;
  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    try {
      await sweep();
    } catch {
      report('expired tokens could not be removed; trying again in a minute');
    }
    const now = await notices().catch(() => reported);
    for (const notice of now) if (!reported.includes(notice)) report(notice);
    for (const notice of reported) if (!now.includes(notice)) report(`/readyz no longer lists: ${notice}`);
    reported = now;
    await prune?.();
    isRunning = false;
  }
  const timer = setInterval(run, MINUTE).unref();
  return () => clearInterval(timer);
}

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
