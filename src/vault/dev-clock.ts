import type { Clock, Instant } from '../core/ports.ts';
import { systemClock } from './system-clock.ts';

/** The movable clock of a `--dev` vault. Times and durations are in milliseconds. */
export interface DevClock {
  now(): Instant;
  /** How far it is ahead of the machine's clock; negative when it is behind. */
  offset(): number;
  /** Moves to `at`. Resolves to the number of records that it removed because they have expired. */
  set(at: Instant): Promise<number>;
  advance(by: number): Promise<number>;
  /** Back to the machine's clock. */
  reset(): Promise<number>;
}

/** A clock that runs as the machine's does, `offset` away from it. */
export interface MovableClock extends Clock {
  offset(): number;
  /**
   * Stands still while `settle` runs, then goes on `offset` away from the machine's clock. Where `settle` fails, it goes on
   * as if nothing had been asked. One move waits for the other.
   */
  move(offset: (now: Instant) => number, settle: (from: Instant, to: Instant) => Promise<void>): Promise<void>;
}

/**
 * An offset on the machine's clock. It breaks the promise of `Clock` on purpose, and only in `move`: after a move back its
 * answers are smaller than before.
 */
export function movableClock(machine: Clock = systemClock()): MovableClock {
  let offset = 0;
  let held: Instant | undefined;
  let last: Promise<void> = Promise.resolve();
  const now = (): Instant => held ?? machine.now() + offset;

  async function moveNow(to: (now: Instant) => number, settle: (from: Instant, to: Instant) => Promise<void>) {
    held = now();
    try {
      const next = to(held);
      await settle(held, machine.now() + next);
      offset = next;
    } finally {
      held = undefined;
    }
  }

  return {
    now,
    settled: () => held ?? machine.settled() + offset,
    offset: () => offset,
    move(to, settle) {
      const moved = last.then(() => moveNow(to, settle));
      last = moved.catch(() => undefined);
      return moved;
    },
  };
}

/**
 * The clock of a vault, moved on purpose: the sweeper, which pauses when the machine's clock jumps, does not see it, and
 * what has expired at the new time is removed at once. Before the clock goes back it stands still until everything that
 * has expired is removed, so that no move brings a record back that some reader has found expired.
 */
export function devClock(clock: MovableClock, sweep: () => Promise<number>): DevClock {
  async function move(to: (now: Instant) => number): Promise<number> {
    let removed = 0;
    await clock.move(to, async (from, then) => {
      if (then < from) removed += await sweep();
    });
    return removed + (await sweep());
  }

  return {
    now: clock.now,
    offset: clock.offset,
    set: (at) => move((now) => clock.offset() + at - now),
    advance: (by) => move(() => clock.offset() + by),
    reset: () => move(() => 0),
  };
}
