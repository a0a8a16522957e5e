const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Dependencies of the sweeper: the vault and the log. */
export interface SweeperContext {
  readonly sweep: () => Promise<unknown>;
  readonly report: (fact: string) => void;
}

/** Both in milliseconds. */
interface Times {
  /** The clock on the wall, which people and time servers set. */
  readonly wall: () => number;
  /** A clock that only runs. */
  readonly running: () => number;
}

/**
 * One turn of the sweeper, to be run every minute. When the wall clock has gone forward by over an hour more than time has
 * passed, it says so; the vault's own clock (`Clock.settled`) then keeps what would not have expired for an hour: a clock
 * that is wrong must not delete anything.
 */
export function createSweeper({ sweep, report }: SweeperContext, { wall, running }: Times): () => Promise<void> {
  let lastWall = wall();
  let lastRunning = running();
  return async () => {
    const [wallNow, runningNow] = [wall(), running()];
    const jump = wallNow - lastWall - (runningNow - lastRunning);
    lastWall = wallNow;
    lastRunning = runningNow;
    if (jump > HOUR) {
      report(
        'the clock went forward by more than an hour: expired tokens are hidden, and removed from the file in an hour',
      );
    }
    try {
      await sweep();
    } catch {
      report('expired tokens could not be removed; trying again in a minute');
    }
  };
}

/** Sweeps every minute without keeping the process alive. Returns a function that stops it. */
export function startSweeper(context: SweeperContext): () => void {
  const turn = createSweeper(context, { wall: () => Date.now(), running: () => performance.now() });
  const timer = setInterval(turn, MINUTE).unref();
  return () => clearInterval(timer);
}
