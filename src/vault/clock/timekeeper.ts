import type { Instant } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { KeyHolder } from '../key-holder.ts';
import { type ClockNote, doubtOf, isNear, jumpNotice, noteOpening, noteSettled, pauseNotice } from './clock-note.ts';
import { MACHINE, systemClock, type Times } from './system-clock.ts';

/** The system's clock, compared with the vault's clock note. */
export type Timekeeper = Awaited<ReturnType<typeof openTimekeeper>>;

type Parts = Pick<KeyHolder, 'store' | 'keyring'> & { readonly vault_id: string };

/** Returns the clock of a process that opened a vault with this note. */
export function notedClock(note: ClockNote, times: Times = MACHINE) {
  const isTrusted = (wall: Instant) => isNear(note, wall);
  return systemClock({ floor: note.expired_at, doubt: doubtOf(note, times.wall()), isTrusted, times });
}

/**
 * Returns the clock of a vault and updates the vault's clock note. Rejects with `integrity_failure` when the note was
 * altered.
 */
export async function openTimekeeper(parts: Parts, times: Times = MACHINE) {
  const clock = notedClock(await noteOpening(parts, times.wall()), times);

  /** Returns a sentence if the clock is in doubt, else an empty list. */
  function notices(): readonly string[] {
    const doubt = clock.doubt();
    return doubt === undefined ? [] : [(doubt.isJump ? jumpNotice : pauseNotice)(doubt.ends_at)];
  }

  return {
    ...clock,
    notices,
    /** Updates the clock note with the settled time. Rejects with `integrity_failure` when the note was altered. */
    async keep() {
      const settled = clock.settled();
      if (settled > 0) clock.raiseFloor((await noteSettled(parts, settled)).expired_at);
    },
    /** Rejects with `vault_busy` while a clock that jumped hides a record that is live by the vault's own time. */
    async requireShown() {
      const doubt = clock.doubt();
      // Without a jump, `cutoff` exceeds `now` only by a tick of the clock between the two readings.
      if (doubt?.isJump !== true) return;
      const [now, cutoff] = [clock.now(), clock.cutoff()];
      const next = await parts.store.nextExpiry(now);
      if (next === undefined || next > cutoff) return;
      throw new Problem('vault_busy', {
        detail: `${jumpNotice(doubt.ends_at)}; it hides records that the clock has passed`,
      });
    },
  };
}
