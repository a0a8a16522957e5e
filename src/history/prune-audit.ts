import type { Audit } from '../core/audit/audit.ts';
import type { AuditEvent } from '../core/audit/audit-event.ts';
import { encodePosition } from '../core/audit/audit-link.ts';
import { createFollower, type Follower } from '../core/audit/follower.ts';
import { loggedRow } from '../core/audit/log-index.ts';
import type { AuditHead } from '../core/audit/ports.ts';
import { type Base, createSums, readBase, sealBase } from '../core/audit/sums.ts';
import { BrokenAudit, type PositionedEvent, walkAudit } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { Instant } from '../core/ports.ts';
import { nextSlice } from '../core/slices.ts';
import { wallTime } from '../core/timers.ts';
import {
  type ArchivedRange,
  type ArchiveFile,
  archiveLines,
  isSameRow,
  type VerifiedArchive,
  verifyArchive,
} from './audit-archive.ts';
import { type LogParts, prunedMeanwhile } from './read-log.ts';

/** The number of rows from which on a transaction removes no more, and of their subjects unless a row has more. */
const MAX_ROWS = 200;
const MAX_SUBJECTS = 500;

export interface PruneParts extends Pick<LogParts, 'store' | 'keyring'> {
  readonly vault_id: string;
  readonly follower: Pick<Follower, 'follow'>;
  readonly audit: Pick<Audit, 'draft'>;
  /** Pauses between two batches. */
  readonly yieldToLoop: () => Promise<void>;
}

/** Returns the archive for the rows that follow `after`, up to `through`. */
export type ArchiveOf = (range: ArchivedRange) => ArchiveFile;

interface PruneOptions {
  readonly reuse?: boolean;
  readonly rows?: number;
  /** Default: the wall clock. */
  readonly now?: Instant;
}

/** The result of a prune. */
export interface Pruned {
  /** The archive; absent if no entry was old enough. */
  readonly archive?: VerifiedArchive;
  /** The number of removed rows. */
  readonly removed: number;
}

/**
 * Moves the oldest entries of the audit, those before `before`, to a new archive, in this order: writes and verifies
 * the archive, appends an entry, and moves the base forward in steps, each of which removes the rows before it. A
 * killed prune loses nothing, and its log begins with a complete base. With `reuse`, an existing archive of the same
 * rows replaces the new one. `rows` is the number of rows of a step. Rejects with the faults `damaged`, `file_exists`
 * and `conflict`.
 */
export async function pruneAudit(
  parts: PruneParts,
  before: Instant,
  fileOf: ArchiveOf,
  { reuse = false, rows = MAX_ROWS, now = wallTime() }: PruneOptions = {},
): Promise<Pruned> {
  let base: Base | undefined;
  try {
    base = await readBase(parts);
    const range = await rangeBefore(parts, base, before, now);
    if (range === undefined) return { removed: 0 };
    await requireSound(parts);
    const [first] = await parts.store.readAudit(base.sequence - 1, 1);
    // A role that may not remove entries fails here, before it writes an archive.
    if (first === undefined || !(await parts.store.moveBase(base, first, []))) throw prunedMeanwhile();
    const file = fileOf(range);
    if (!(reuse && file.exists())) await file.write(archiveLines(parts, range));
    const archive = await verifyArchive(parts, file);
    const { after, through } = range;
    if (!isSameRow(archive.after, after) || !isSameRow(archive.through, through)) {
      throw new Fault('file_exists', `${file.path} exists and holds other entries`);
    }
    await parts.follower.follow();
    await parts.store.appendAudit([parts.audit.draft(pruneEvent(through, archive.digest))]);
    await moveBase(parts, base, through, { archive: archive.digest, rows });
    return { archive, removed: through.sequence - after.sequence };
  } catch (error) {
    if (!(error instanceof BrokenAudit)) throw error;
    if (base !== undefined && (await readBase(parts).catch(() => base))?.sequence !== base.sequence) {
      throw prunedMeanwhile(error);
    }
    throw new Fault('damaged', error.message, { hint: 'run `vault doctor` to find all damage', cause: error });
  }
}

/**
 * Rejects with the fault `damaged` if a record of authority differs from the audit. The prune could remove the entry
 * that names the record, which would close its whole tenant.
 */
async function requireSound(parts: PruneParts): Promise<void> {
  const follower = createFollower(parts);
  await follower.follow();
  if (!follower.isAltered()) return;
  throw new Fault('damaged', 'tenants, applications or API keys differ from the audit, so no entry was removed', {
    hint: 'run `vault doctor` to find the records, and restore a backup or run `vault tenant accept`',
  });
}

function pruneEvent(through: AuditHead, digest: string): AuditEvent {
  return { action: 'pruneAudit', status: 200, entities: [encodePosition(through), digest] };
}

/**
 * Resolves to the rows to remove, or to undefined if there are none. Their events are earlier than `before`, or later
 * than `now`: a wrong clock wrote those, and a row behind them is old enough.
 */
async function rangeBefore(
  parts: PruneParts,
  base: Base,
  before: Instant,
  now: Instant,
): Promise<ArchivedRange | undefined> {
  const after: AuditHead = { sequence: base.sequence, link: base.link };
  let [through, row] = [after, after];
  let isOld = false;
  const sums = createSums(parts.keyring, base.state);
  for await (const positioned of walkAudit(parts, base)) {
    const { sequence, link, at } = positioned;
    await nextSlice();
    sums.apply(positioned);
    // Only these entries prove that records were altered before.
    const [first] = sums.contradictions();
    if (first !== undefined) throw new BrokenAudit(first, 'contradicts the entries before it');
    // The row before is old enough. An archive ends with a commit.
    if (sequence !== row.sequence && isOld && row.link.length > 0) through = row;
    row = { sequence, link };
    isOld = at < before;
    if (!isOld && at <= now) break;
  }
  if (isOld && row.link.length > 0) through = row;
  return through.sequence > after.sequence ? { after, through } : undefined;
}

/** Moves the base to the row `through`, in steps. Rejects with `conflict` if another process moves it. */
async function moveBase(
  parts: PruneParts,
  from: Base,
  through: AuditHead,
  { archive, rows }: { readonly archive: string; readonly rows: number },
): Promise<void> {
  const { store, keyring, yieldToLoop } = parts;
  const limited = { ...store, auditHead: async () => ({ ...through, at: 0 }) };
  const sums = createSums(keyring, from.state);
  let { latest } = from;
  let base: AuditHead = from;
  let row: PositionedEvent[] = [];
  const blinds = new Map<string, Uint8Array>();

  /** Ends a row. Moves the base to it after enough rows. */
  async function endRow(): Promise<void> {
    const [first] = row;
    if (first === undefined) return;
    const { sequence, link } = first;
    for (const blind of loggedRow(keyring, sequence, row).blinds)
      blinds.set(Buffer.from(blind).toString('latin1'), blind);
    row = [];
    const isEnough = sequence - base.sequence >= rows || blinds.size >= MAX_SUBJECTS;
    if (link.length === 0 || !(isEnough || sequence === through.sequence)) return;
    const [stored] = await store.readAudit(sequence - 1, 1);
    if (stored?.sequence !== sequence) throw prunedMeanwhile();
    const next = sealBase(keyring, stored, { latest, archive, state: sums.state() });
    if (!(await store.moveBase(base, next, [...blinds.values()]))) throw prunedMeanwhile();
    base = next;
    blinds.clear();
    await yieldToLoop();
  }

  for await (const positioned of walkAudit({ store: limited, keyring }, from)) {
    if (positioned.sequence !== row[0]?.sequence) await endRow();
    row.push(positioned);
    latest = Math.max(latest, positioned.at);
    sums.apply(positioned);
  }
  await endRow();
}

/** Resolves to whether the first entry that is not later than `now` is before `before`. Usually reads one row. */
export async function isPruneDue(
  { store, keyring }: Pick<PruneParts, 'store' | 'keyring'>,
  before: Instant,
  now: Instant,
): Promise<boolean> {
  let { sequence } = await readBase({ store, keyring });
  for (let limit = 1; ; limit = MAX_ROWS) {
    const rows = await store.readAudit(sequence, limit);
    const first = rows.find(({ at }) => at <= now);
    const last = rows.at(-1);
    if (first !== undefined || last === undefined) return first !== undefined && first.at < before;
    sequence = last.sequence;
  }
}
