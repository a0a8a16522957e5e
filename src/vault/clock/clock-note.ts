import type { Instant, Keyring, Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { MachineDate } from '../../core/timers.ts';

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;

/** The maximum difference between a trusted clock and the note in either direction, in milliseconds. */
const MAX_DISTANCE = DAY;
/** How long a doubtful clock must show the new time before the vault trusts it, in milliseconds. */
const DOUBT_MS = HOUR;
/**
 * The hour starts again if no process sees the new time for longer than this, in milliseconds. A weekly command can
 * thus end a doubt.
 */
const MAX_STANDING = 31 * DAY;

/**
 * The vault's clock note, in the store under a MAC.
 *
 * - `expired_at`: the latest expiry that passed. The vault's clock never starts before it, so expired records never
 *   return when the machine's clock goes back. Only a settled time raises it, and it never decreases.
 * - `settled_at`: the last settled time. The vault trusts a clock within a day of it. When the machine's clock goes
 *   back, this time does, too.
 * - `doubted_at`: the time that a more distant clock first showed; 0 without a doubt. The vault trusts such a clock
 *   after an hour. A long-lived process counts the hour itself; other processes compare with this time.
 * - `backed_up_at`: the time of the last backup by the machine's clock, for metrics; absent before the first backup.
 *
 * A process with a clock in doubt raises no time. One command with a clock 20 years ahead changes only `doubted_at`,
 * and the next command with the right clock resets it. The clock of a process (`systemClock`) defines what is hidden.
 */
export interface ClockNote {
  readonly expired_at: Instant;
  readonly settled_at: Instant;
  readonly doubted_at: Instant;
  readonly backed_up_at?: Instant | undefined;
}

interface NoteParts {
  readonly keyring: Pick<Keyring, 'anchorMac'>;
  readonly vault_id: string;
}

/**
 * Returns the note as the text `<expired_at> <settled_at> <doubted_at> [<backed_up_at>] <MAC, hex>`. The MAC covers the
 * vault's id and the times.
 */
export function sealClockNote({ keyring, vault_id }: NoteParts, note: ClockNote): string {
  const backup = note.backed_up_at === undefined ? '' : ` ${note.backed_up_at}`;
  const times = `${note.expired_at} ${note.settled_at} ${note.doubted_at}${backup}`;
  const mac = keyring.anchorMac(`token-vault clock\n${vault_id}\n${times}`);
  return `${times} ${Buffer.from(mac).toString('hex')}`;
}

/** Parses a clock note. Throws `integrity_failure` for a note that this vault did not write. */
export function openClockNote(parts: NoteParts, text: string): ClockNote {
  const [expired_at = 0, settled_at = 0, doubted_at = 0, backed_up_at] = text.split(' ').slice(0, -1).map(Number);
  const note = { expired_at, settled_at, doubted_at, backed_up_at };
  if (sealClockNote(parts, note) !== text) throw new Problem('integrity_failure');
  return note;
}

/** Returns whether a clock that shows `wall` is near enough to the note to be certain. */
export function isNear({ settled_at }: ClockNote, wall: Instant): boolean {
  return Math.abs(wall - settled_at) <= MAX_DISTANCE;
}

/**
 * Returns how long the vault must not purge, in milliseconds, when the machine's clock shows `wall`. Returns 0 for a
 * trusted clock.
 */
export function doubtOf(note: ClockNote, wall: Instant): number {
  if (isNear(note, wall)) return 0;
  const stood = note.doubted_at === 0 ? -1 : wall - note.doubted_at;
  return stood < 0 || stood > MAX_STANDING ? DOUBT_MS : Math.max(0, DOUBT_MS - stood);
}

/** Updates the note when a process opens the vault and the machine's clock shows `wall`. Returns the new note. */
export async function noteOpening(parts: NoteParts & { readonly store: Store }, wall: Instant): Promise<ClockNote> {
  return update(parts, async (note) => {
    const doubt = doubtOf(note, wall);
    if (doubt === 0) return settle(parts.store, note, wall);
    return doubt === DOUBT_MS ? { ...note, doubted_at: wall } : note;
  });
}

/** Updates the note with a settled time, which is no longer in doubt. Returns the new note. */
export function noteSettled(parts: NoteParts & { readonly store: Store }, settled: Instant): Promise<ClockNote> {
  return update(parts, (note) => settle(parts.store, note, settled));
}

async function settle(store: Store, note: ClockNote, settled: Instant): Promise<ClockNote> {
  const expired_at = Math.max(note.expired_at, await store.latestExpiry(settled));
  const moved = expired_at > note.expired_at || note.doubted_at !== 0 || Math.abs(settled - note.settled_at) >= HOUR;
  return moved ? { ...note, expired_at, settled_at: settled, doubted_at: 0 } : note;
}

/** Records a backup at the time `backed_up_at` in the note. Rejects if the note cannot be written. */
export async function noteBackup(parts: NoteParts & { readonly store: Store }, backed_up_at: Instant): Promise<void> {
  for (;;) {
    const text = await parts.store.clockNote();
    const note = { ...openClockNote(parts, text), backed_up_at };
    if (await parts.store.replaceClockNote(sealClockNote(parts, note), text)) return;
  }
}

async function update(
  parts: NoteParts & { readonly store: Store },
  next: (note: ClockNote) => Promise<ClockNote>,
): Promise<ClockNote> {
  for (;;) {
    const text = await parts.store.clockNote();
    const note = openClockNote(parts, text);
    const after = await next(note);
    if (after === note) return note;
    // Ignore a full or busy disk, which must not stop a reader. The next process writes the note.
    const written = await parts.store.replaceClockNote(sealClockNote(parts, after), text).catch(() => true);
    if (written) return after;
  }
}

/** Returns the notice that the vault purges nothing until the machine's clock shows `until`. */
export function pauseNotice(until: Instant): string {
  return `the clock is in doubt: expired tokens are hidden, but not removed before ${name(until)}`;
}

/** Returns the notice that the vault does not follow a clock that has jumped, until the clock shows `until`. */
export function jumpNotice(until: Instant): string {
  return `the clock is in doubt: it jumped by over an hour, and the vault keeps its own time until ${name(until)}`;
}

const name = (instant: Instant) => new MachineDate(instant).toISOString();

/** Returns a counter of the records that were created more than a day after `wall`, and its notice. */
export function countAhead(wall: Instant) {
  let found = 0;
  return {
    count(created_at: Instant): void {
      if (created_at > wall + DAY) found += 1;
    },
    notices(): readonly string[] {
      if (found === 0) return [];
      const records = found === 1 ? '1 record was' : `${found} records were`;
      return [`${records} created more than a day after now (${name(wall)}), under a wrong clock`];
    },
  };
}

/** Compares a clock that shows `wall` with the note and the newest audit entry. Returns a sentence for each doubt. */
export function clockNotices(note: ClockNote, newestEntry: Instant, wall: Instant): readonly string[] {
  const doubt = doubtOf(note, wall);
  return [
    ...(doubt > 0 ? [pauseNotice(wall + doubt)] : []),
    ...(note.expired_at > wall + MAX_DISTANCE
      ? [`the clock (${name(wall)}) is behind the latest expiry that passed (${name(note.expired_at)})`]
      : []),
    ...(newestEntry > wall + MAX_DISTANCE
      ? [`the clock (${name(wall)}) is behind the newest entry of the audit (${name(newestEntry)})`]
      : []),
  ];
}
