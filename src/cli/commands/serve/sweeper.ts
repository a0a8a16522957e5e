const MINUTE = 60_000;

/** Dependencies of the sweeper: the vault and the log. */
export interface SweeperContext {
  readonly sweep: () => Promise<unknown>;
  readonly notices: () => Promise<readonly string[]>;
  readonly report: (fact: string) => void;
}

/**
 * Runs one turn of the sweeper, every minute. Reports each notice of the vault once while it holds, such as a clock in doubt.
 */
export function createSweeper({ sweep, notices, report }: SweeperContext): () => Promise<void> {
  let reported: readonly string[] = [];
  return async () => {
    try {
      await sweep();
      const now = await notices();
      for (const notice of now) if (!reported.includes(notice)) report(notice);
      reported = now;
    } catch {
      report('expired tokens could not be removed; trying again in a minute');
    }
  };
}

/** Sweeps every minute without keeping the process alive. Returns a function that stops it. */
export function startSweeper(context: SweeperContext): () => void {
  const timer = setInterval(createSweeper(context), MINUTE).unref();
  return () => clearInterval(timer);
}
