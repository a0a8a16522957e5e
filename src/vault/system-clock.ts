import type { Clock, Instant } from '../core/ports.ts';

const HOUR = 60 * 60 * 1000;

/** What a clock is made of; both in milliseconds. */
export interface Times {
  /** The clock on the wall, which people and time servers set. */
  readonly wall: () => number;
  /** A clock that only runs. */
  readonly running: () => number;
}

const MACHINE: Times = { wall: () => Date.now(), running: () => performance.now() };

/**
 * The machine's clock, never before `floor` and never going back while the process lives: what has expired stays expired.
 * Jumps are seen when the clock is asked, so it must be asked now and then.
 */
export function systemClock(floor: Instant = 0, { wall, running }: Times = MACHINE): Clock {
  let latest = floor;
  let settled = floor;
  let lastWall = wall();
  let lastRunning = running();
  let doubtedUntil = Number.NEGATIVE_INFINITY;

  function look(): void {
    const wallNow = wall();
    const runningNow = running();
    if (wallNow - lastWall - (runningNow - lastRunning) > HOUR) doubtedUntil = runningNow + HOUR;
    lastWall = wallNow;
    lastRunning = runningNow;
    latest = Math.max(latest, wallNow);
    if (runningNow >= doubtedUntil) settled = Math.max(settled, wallNow);
  }

  return {
    now: () => {
      look();
      return latest;
    },
    settled: () => {
      look();
      return settled;
    },
  };
}
