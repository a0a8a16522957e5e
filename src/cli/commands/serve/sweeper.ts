import { clearInterval, setInterval } from '../../../core/timers.ts';

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
