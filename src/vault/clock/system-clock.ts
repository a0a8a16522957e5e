import { uptime } from 'node:os';
import type { Instant } from '../../core/ports.ts';
import type { Clock } from '../../core/time.ts';
import { runningTime, wallTime } from '../../core/timers.ts';

const HOUR = 60 * 60 * 1000;
/** The shortest sleep that counts, in milliseconds. */
const NOTABLE = 1000;

/** The sources of a clock, in milliseconds. */
export interface Times {
  /** The wall clock, which people and time servers set. */
  readonly wall: () => number;
  /** A monotonic clock. It may stop while the machine sleeps. */
  readonly running: () => number;
  /** The time since the machine's start that `running` has left out. Default: none. */
  readonly asleep?: () => number;
}

/**
 * Returns how long the machine has slept. Linux's monotonic clock stops during sleep and its uptime does not. On macOS
 * Node's monotonic clock counts sleep, and the uptime follows the wall clock, so it would hide a jump.
 */
const asleep = () => (process.platform === 'darwin' ? 0 : uptime() * 1000 - runningTime());

export const MACHINE = { wall: wallTime, running: runningTime, asleep } as const satisfies Times;

export interface ClockStart {
  /** The latest expiry that passed by settled time. */
  readonly floor?: Instant;
  /** How long the clock is in doubt from its start, in milliseconds. */
  readonly doubt?: number;
  /** Returns whether a clock that was in doubt at its start is certain when it shows `wall`. Default: never. */
  readonly isTrusted?: (wall: Instant) => boolean;
  readonly times?: Times | undefined;
}

/** A doubt about the wall clock. */
export interface Doubt {
  /** True after a jump in the running process, false after a start far from the clock note. */
  readonly isJump: boolean;
  /** The time on the wall clock at the end of the doubt. */
  readonly ends_at: Instant;
}

/**
 * Returns the clock of a vault. It follows the wall clock, unless that jumps: the difference from the time that has
 * passed (running time and sleep) is then more than an hour between two readings.
 *
 * | state                | `now()`                           | `cutoff()`               | `settled()`     |
 * | -------------------- | --------------------------------- | ------------------------ | --------------- |
 * | settled              | the wall clock                    | `now()`                  | the wall clock  |
 * | doubt after a jump   | last settled time and time passed | `now()`, wall, the later | the last one    |
 * | doubt after the start | the wall clock                   | `now()`                  | 0: none         |
 *
 * - Records that end at or before `cutoff()` are hidden, and those that end at or before `settled()` may be removed. A
 *   doubt therefore removes no record that is still live by settled time.
 * - A doubt ends when the wall clock has shown the new time for an hour; another jump starts the hour again. It ends at
 *   once when the wall clock returns: after a jump to within an hour of the time passed, after a start to a time that
 *   `isTrusted`.
 * - `now()` does not go back when the wall clock goes back by up to an hour: it waits. When `now()` follows the wall
 *   clock back by more than an hour, it stops at the floor: the latest expiry that passed by settled time. That is the
 *   case when a jump back has lasted an hour, and at once during a doubt after the start.
 * - The clock sees jumps only when it is read, so read it at least every minute.
 */
export function systemClock({ floor: start = 0, doubt: ms = 0, isTrusted, times = MACHINE }: ClockStart = {}) {
  const { wall, running, asleep: sleep = () => 0 } = times;
  let floor = start;
  let last = { wall: wall(), running: running(), asleep: sleep() };
  /** The time passed since the start, including sleep. */
  let passed = 0;
  /** The time by the wall clock, without its jumps. */
  let expected = last.wall;
  let latest = Math.max(floor, expected);
  let settled = ms > 0 ? 0 : expected;
  let doubt = ms > 0 ? { isJump: false, until: ms, ends_at: last.wall + ms } : undefined;

  /** Returns the time passed since the last reading and how far the wall clock has jumped meanwhile. */
  function read() {
    const next = { wall: wall(), running: running(), asleep: last.asleep };
    let step = next.running - last.running;
    // Reading the uptime takes 8 µs, so read it only if the clocks differ.
    if (Math.abs(next.wall - last.wall - step) > NOTABLE) {
      next.asleep = sleep();
      const slept = next.asleep - last.asleep;
      // The uptime has a resolution of 10 ms to 1 s, so shorter sleeps are noise.
      if (slept > NOTABLE) step += slept;
    }
    const jump = next.wall - last.wall - step;
    last = next;
    return { step, jump };
  }

  function look(): void {
    const { step, jump } = read();
    passed += step;
    expected += step;
    if (Math.abs(jump) > HOUR) {
      doubt = { isJump: doubt?.isJump ?? true, until: passed + HOUR, ends_at: last.wall + HOUR };
    }
    if (doubt !== undefined) {
      const hasReturned = doubt.isJump ? Math.abs(last.wall - expected) <= HOUR : isTrusted?.(last.wall);
      if (hasReturned || passed >= doubt.until) doubt = undefined;
    }
    if (!doubt?.isJump) {
      if (last.wall < expected - HOUR) [latest, settled] = [floor, 0];
      expected = last.wall;
    }
    latest = Math.max(latest, Math.floor(expected));
    if (doubt === undefined) settled = Math.max(settled, expected);
  }

  return {
    now() {
      look();
      return latest;
    },
    cutoff() {
      look();
      return Math.max(latest, last.wall);
    },
    settled() {
      look();
      return settled;
    },
    /** Returns the doubt about the wall clock, if there is one. */
    doubt(): Doubt | undefined {
      look();
      return doubt;
    },
    /** Raises the floor. The clock does not go below it when it goes back. */
    raiseFloor(to: Instant) {
      floor = Math.max(floor, to);
    },
  } satisfies Clock & Record<string, unknown>;
}
