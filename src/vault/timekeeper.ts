import type { Keyring, Store } from '../core/ports.ts';
import { doubtOf, noteOpening, noteSettled, pauseNotice } from '../maintenance/clock-note.ts';
import { MACHINE, type SystemClock, systemClock, type Times } from './system-clock.ts';

/** The system's clock, compared with the vault's clock note. */
export interface Timekeeper extends SystemClock {
  /** Updates the clock note with the settled time. Rejects with `integrity_failure` when the note was altered. */
  keep(): Promise<void>;
  /** Returns a sentence if the clock is in doubt, else an empty list. */
  notices(): readonly string[];
}

interface TimekeeperParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly vault_id: string;
}

/**
 * Returns the clock of a vault and updates the vault's clock note. Rejects with `integrity_failure` when the note was
 * altered.
 */
export async function openTimekeeper(parts: TimekeeperParts, times: Times = MACHINE): Promise<Timekeeper> {
  const wall = times.wall();
  const note = await noteOpening(parts, wall);
  const clock = systemClock({ floor: note.expired_at, doubt: doubtOf(note, wall), times });
  return {
    ...clock,
    async keep() {
      const settled = clock.settled();
      if (settled > 0) await noteSettled(parts, settled);
    },
    notices() {
      const until = clock.doubtedUntil();
      return until === undefined ? [] : [pauseNotice(until)];
    },
  };
}
