import type { Instant } from '../../core/ports.ts';
import type { Clock } from '../../core/time.ts';
import type { Vault } from '../vault.ts';
import { systemClock } from './system-clock.ts';

export type DevClock = ReturnType<typeof devClock>;
export type MovableClock = ReturnType<typeof movableClock>;

type NewOffset = (now: Instant) => number;
type Settle = (from: Instant, to: Instant) => Promise<void>;

/**
 * Returns a clock with an offset from the machine's clock. Its time goes back only by `move`, which deliberately breaks
 * the promise of `Clock`.
 */
export function movableClock(machine: Clock = systemClock()) {
  let offset = 0;
  let held: Instant | undefined;
  let last: Promise<void> = Promise.resolve();
  const now = (): Instant => held ?? machine.now() + offset;

  async function moveNow(to: NewOffset, settle: Settle): Promise<void> {
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
    cutoff: () => held ?? machine.cutoff() + offset,
    settled: () => held ?? machine.settled() + offset,
    /** Returns the offset from the machine's clock; negative when this clock is behind. */
    offset: () => offset,
    /**
     * Stops the clock while `settle` runs, then continues with the new offset, or with the old one if `settle` fails.
     * Moves run in sequence.
     */
    move(to: NewOffset, settle: Settle): Promise<void> {
      const moved = last.then(() => moveNow(to, settle));
      last = moved.catch(() => undefined);
      return moved;
    },
  };
}

/**
 * Returns the controls of a vault's movable clock, which `DevControls` describes. The sweeper, which pauses after jumps
 * of the machine's clock, does not notice moves, so each move removes the records that have expired at the new time.
 * Before the clock goes back, it stops until all expired records are removed, so that none of them returns.
 */
export function devClock(clock: MovableClock, { sweep, nextExpiry }: Pick<Vault, 'sweep' | 'nextExpiry'>) {
  async function move(to: NewOffset): Promise<number> {
    let removed = 0;
    await clock.move(to, async (from, then) => {
      if (then < from) removed += await sweep();
    });
    return removed + (await sweep());
  }

  return {
    now: clock.now,
    offset: clock.offset,
    set: (at: Instant) => move((now) => clock.offset() + at - now),
    advance: (by: number) => move(() => clock.offset() + by),
    reset: () => move(() => 0),
    nextExpiry,
  };
}
