import type { Instant } from '../core/ports.ts';
import { runningTime } from '../core/running-time.ts';

const HOUR = 60 * 60 * 1000;

/** The sources of a clock, in milliseconds. */
export interface Times {
  /** The wall clock, which people and time servers set. */
  readonly wall: () => number;
  /** A monotonic clock. */
  readonly running: () => number;
}

export const MACHINE: Times = { wall: () => Date.now(), running: runningTime };

export interface ClockStart {
  /** The latest expiry that has passed. The clock never shows an earlier time. */
  readonly floor?: Instant;
  /** How long the clock is in doubt from its start, in milliseconds. */
  readonly doubt?: number;
  readonly times?: Times | undefined;
}

/**
 * Returns the machine's clock, except that it never shows a time before `floor` and never goes back in this process, so
 * that expired records stay expired. `settled` follows the wall clock, not the floor. It is 0 while the first time is
 * in doubt, so that nothing counts as expired. The clock notices jumps only when it is read, so read it from time to
 * time.
 */
export function systemClock({ floor = 0, doubt = 0, times = MACHINE }: ClockStart = {}) {
  const { wall, running } = times;
  let lastWall = wall();
  let lastRunning = running();
  let latest = floor;
  let settled = 0;
  let doubted = doubt > 0 ? { running: lastRunning + doubt, wall: lastWall + doubt } : undefined;

  function look(): void {
    const wallNow = wall();
    const runningNow = running();
    if (wallNow - lastWall - (runningNow - lastRunning) > HOUR) {
      doubted = { running: runningNow + HOUR, wall: wallNow + HOUR };
    }
    lastWall = wallNow;
    lastRunning = runningNow;
    latest = Math.max(latest, wallNow);
    if (doubted !== undefined && runningNow >= doubted.running) doubted = undefined;
    if (doubted === undefined) settled = Math.max(settled, wallNow);
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
    /** Returns the wall-clock time at which the doubt about the clock ends, or undefined without a doubt. */
    doubtedUntil: () => {
      look();
      return doubted?.wall;
    },
  };
}
