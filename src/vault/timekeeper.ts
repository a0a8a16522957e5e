import { doubtOf, noteOpening, noteSettled, pauseNotice } from '../maintenance/clock-note.ts';
import type { KeyHolder } from '../maintenance/key-holder.ts';
import { MACHINE, systemClock, type Times } from './system-clock.ts';

/** The system's clock, compared with the vault's clock note. */
export type Timekeeper = Awaited<ReturnType<typeof openTimekeeper>>;

type Parts = Pick<KeyHolder, 'store' | 'keyring'> & { readonly vault_id: string };

/**
 * Returns the clock of a vault and updates the vault's clock note. Rejects with `integrity_failure` when the note was
 * altered.
 */
export async function openTimekeeper(parts: Parts, times: Times = MACHINE) {
  const wall = times.wall();
  const note = await noteOpening(parts, wall);
  const clock = systemClock({ floor: note.expired_at, doubt: doubtOf(note, wall), times });
  return {
    ...clock,
    /** Updates the clock note with the settled time. Rejects with `integrity_failure` when the note was altered. */
    async keep() {
      const settled = clock.settled();
      if (settled > 0) await noteSettled(parts, settled);
    },
    /** Returns a sentence if the clock is in doubt, else an empty list. */
    notices(): readonly string[] {
      const until = clock.doubtedUntil();
      return until === undefined ? [] : [pauseNotice(until)];
    },
  };
}
