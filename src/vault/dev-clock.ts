import type { Clock, Instant } from '../core/ports.ts';
import { systemClock } from './system-clock.ts';
import type { Vault } from './vault.ts';

/** The movable clock of a `--dev` vault. Times and durations are in milliseconds. */
export interface DevClock {
  now(): Instant;
  /** The offset from the machine's clock; negative when it is behind. */
  offset(): number;
  /**
   * Sets the clock to `at`. Like `advance` and `reset`, resolves to the number of expired records that were removed.
   */
  set(at: Instant): Promise<number>;
  advance(by: number): Promise<number>;
  /** Sets the clock to the machine's time. */
  reset(): Promise<number>;
  /** Resolves to the time when the next record expires, or to undefined if none does. */
  nextExpiry(): Promise<Instant | undefined>;
}

/** A clock with an offset from the machine's clock. */
export interface MovableClock extends Clock {
  offset(): number;
  /**
   * Stops the clock while `settle` runs, then continues with the new offset, or with the old one if `settle` fails.
   * Moves run in sequence.
   */
  move(offset: (now: Instant) => number, settle: (from: Instant, to: Instant) => Promise<void>): Promise<void>;
}

/**
 * Returns a clock with an offset from the machine's clock. Its time goes back only by `move`, which deliberately breaks
 * the promise of `Clock`.
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
 * Returns the controls of a vault's movable clock. The sweeper, which pauses after jumps of the machine's clock, does
 * not notice moves, so each move removes the records that have expired at the new time. Before the clock goes back, it
 * stops until all expired records are removed, so that none of them returns.
 */
export function devClock(clock: MovableClock, { sweep, nextExpiry }: Pick<Vault, 'sweep' | 'nextExpiry'>): DevClock {
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
    nextExpiry,
  };
}
