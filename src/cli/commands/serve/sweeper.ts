const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** What the sweeper asks of its surroundings; both times in milliseconds. */
export interface SweeperWorld {
  /** The clock on the wall, which people and time servers set. */
  readonly wallTime: () => number;
  /** A clock that only runs. */
  readonly runningTime: () => number;
  readonly sweep: () => Promise<unknown>;
  readonly tell: (fact: string) => void;
}

/**
 * One turn of the sweeper, to be run every minute. When the wall clock has gone forward by over an hour more than time has
 * passed, it says so; the vault's own clock (`Clock.settled`) then keeps what would not have expired for an hour: a clock
 * that is wrong must not delete anything.
 */
export function createSweeper({ wallTime, runningTime, sweep, tell }: SweeperWorld): () => Promise<void> {
  let lastWall = wallTime();
  let lastRunning = runningTime();
  return async () => {
    const wall = wallTime();
    const running = runningTime();
    const jump = wall - lastWall - (running - lastRunning);
    lastWall = wall;
    lastRunning = running;
    if (jump > HOUR) {
      tell(
        'the clock went forward by more than an hour: expired tokens are hidden, and removed from the file in an hour',
      );
    }
    try {
      await sweep();
    } catch {
      tell('expired tokens could not be removed; trying again in a minute');
    }
  };
}

/** A sweeper that runs. */
export interface Sweeper {
  stop(): void;
}

/** Runs the sweeper every minute for as long as something else keeps the process alive. */
export function startSweeper(sweep: () => Promise<unknown>, tell: (fact: string) => void): Sweeper {
  const turn = createSweeper({ wallTime: () => Date.now(), runningTime: () => performance.now(), sweep, tell });
  const timer = setInterval(turn, MINUTE);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
