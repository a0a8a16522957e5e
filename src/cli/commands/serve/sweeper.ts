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
 * Returns a function that removes expired tokens. Also reports the vault's notices, such as a clock in doubt. Repeats a
 * notice only if it had disappeared. Then prunes the audit.
 */
export function createSweeper({
  sweep,
  notices,
  report,
  reported: first = [],
  prune,
}: SweeperContext): () => Promise<void> {
  let reported = first;
  return async () => {
    try {
      await sweep();
      const now = await notices();
      for (const notice of now) if (!reported.includes(notice)) report(notice);
      reported = now;
    } catch {
      report('expired tokens could not be removed; trying again in a minute');
    }
    await prune?.();
  };
}

/**
 * Sweeps every minute. Skips a minute if the last sweep still runs. Does not keep the process alive. Returns a function
 * that stops the sweeper.
 */
export function startSweeper(context: SweeperContext): () => void {
  const sweep = createSweeper(context);
  let isRunning = false;
  async function start(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    await sweep().finally(() => {
      isRunning = false;
    });
  }
  const timer = setInterval(start, MINUTE).unref();
  return () => clearInterval(timer);
}
