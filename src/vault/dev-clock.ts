import type { Clock, Instant } from '../core/ports.ts';
import { systemClock } from './system-clock.ts';
import type { Vault } from './vault.ts';

/** The movable clock of a `--dev` vault. Times and durations are in milliseconds. */
export interface DevClock {
  now(): Instant;
  /** The offset from the machine's clock; negative when it is behind. */
  offset(): number;
  /** Moves to `at`. Resolves to the number of expired records that it removed. */
  set(at: Instant): Promise<number>;
  advance(by: number): Promise<number>;
  /** Returns to the machine's clock. */
  reset(): Promise<number>;
  /** Returns when the next record expires; undefined when none does. */
  nextExpiry(): Promise<Instant | undefined>;
}

/** A clock that runs at `offset` from the machine's. */
export interface MovableClock extends Clock {
  offset(): number;
  /**
   * Stops while `settle` runs, then continues at `offset` from the machine's clock. If `settle` fails, continues as
   * before. Moves run in sequence.
   */
  move(offset: (now: Instant) => number, settle: (from: Instant, to: Instant) => Promise<void>): Promise<void>;
}

/**
 * An offset on the machine's clock. After a move back its values are smaller than before: only `move` breaks the
 * promise of `Clock`, and does so on purpose.
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
 * Returns a movable clock for a vault. The sweeper, which pauses after jumps of the machine's clock, ignores its moves;
 * each move removes what has expired at the new time. Before the clock goes back it stops until everything expired is
 * removed, so that an expired record never returns.
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
