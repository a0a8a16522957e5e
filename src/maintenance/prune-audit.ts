import type { Audit } from '../core/audit/audit.ts';
import type { AuditEvent } from '../core/audit/audit-event.ts';
import { START } from '../core/audit/audit-link.ts';
import {
  type Checkpoint,
  checkpointEvent,
  findBeginning,
  findCheckpoint,
  firstSequence,
  isPruned,
  prunedMeanwhile,
} from '../core/audit/checkpoint.ts';
import type { Follower } from '../core/audit/follower.ts';
import { loggedRow, openAny } from '../core/audit/log-index.ts';
import type { AuditDraft, AuditEntry, AuditHead } from '../core/audit/ports.ts';
import { BrokenAudit, walkAudit } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { ArchiveFile } from '../core/maintenance-ports.ts';
import { nextTurn } from '../core/own-turn.ts';
import type { Instant } from '../core/ports.ts';
import { type ArchivedRange, archiveLines, isSamePlace, type VerifiedArchive, verifyArchive } from './audit-archive.ts';
import type { KeyHolder } from './key-holder.ts';
import { readLedger } from './read-ledger.ts';

/** The maximum number of rows that one transaction removes, and of their subjects unless a single row has more. */
const MAX_ROWS = 200;
const MAX_SUBJECTS = 500;
/** The number of rows with kept records that one transaction appends. */
const KEPT_ROWS = 4;

export interface PruneParts extends Pick<KeyHolder, 'store' | 'keyring'> {
  readonly vault_id: string;
  readonly follower: Pick<Follower, 'follow'>;
  readonly audit: Pick<Audit, 'draftAll' | 'draftAuthority'>;
  /** Pauses between two batches. */
  readonly rest: () => Promise<void>;
}

/** Returns the archive for the rows that follow `after`, up to `through`. */
export type ArchiveOf = (range: ArchivedRange) => ArchiveFile;

/** The result of a prune. */
export interface Pruned {
  /** The archive; absent if no entry was old enough. */
  readonly archive?: VerifiedArchive;
  /** The number of removed rows. Larger than the archive if the prune completed an earlier one. */
  readonly removed: number;
}

/**
 * Removes the oldest entries of the audit, those before `before`, in this order: writes them to a new archive, verifies
 * it, appends entries that keep the state of the records at the last removed row, appends the checkpoint, and removes
 * the rows. A killed prune loses nothing; after the checkpoint, the next prune completes it. With `reuse`, an existing
 * archive of the same rows replaces the new one. Rejects with the faults `damaged`, `file_exists` and `conflict`.
 */
export async function pruneAudit(
  parts: PruneParts,
  before: Instant,
  fileOf: ArchiveOf,
  { reuse = false }: { readonly reuse?: boolean } = {},
): Promise<Pruned> {
  let after: AuditHead | undefined;
  try {
    const resumed = await removePruned(parts);
    const { head } = await findBeginning(parts);
    after = head;
    const range = await rangeBefore(parts, after, before);
    if (range === undefined) return { removed: resumed };
    const file = fileOf(range);
    const isReused = reuse && file.exists();
    // The ledger reads only the rows to remove.
    const { through } = range;
    const store = { ...parts.store, auditHead: async () => ({ ...through, at: before }) };
    const { ledger, bad, latest } = await readLedger({ ...parts, store, rest: async () => nextTurn() });
    const [first] = bad;
    if (first !== undefined) throw new BrokenAudit(first, first.what);
    if (!isReused) await file.write(archiveLines(parts, range));
    const archive = await verifyArchive(parts, file);
    if (!isSamePlace(archive.after, range.after) || !isSamePlace(archive.through, through)) {
      throw new Fault('file_exists', `${file.place} exists and holds other entries`);
    }
    const checkpoint = { through, latest, digest: archive.digest };
    await appendCheckpoint(parts, after, checkpoint, ledger.kept(through.sequence));
    return { archive, removed: resumed + (await removePruned(parts)) };
  } catch (error) {
    if (!(error instanceof BrokenAudit)) throw error;
    if (after !== undefined && (await isPruned(parts, after, error))) throw prunedMeanwhile(error);
    throw new Fault('damaged', error.message, { hint: 'run `vault doctor` to find all damage', cause: error });
  }
}

/** Resolves to the rows to remove, or to undefined if there are none. All their events are earlier than `before`. */
async function rangeBefore(parts: PruneParts, after: AuditHead, before: Instant): Promise<ArchivedRange | undefined> {
  let [through, row] = [after, after];
  let isOver = false;
  for await (const { sequence, link, at } of walkAudit(parts, after)) {
    await nextTurn();
    // The row before is old enough. An archive ends with a commit.
    if (sequence !== row.sequence && row.link.length > 0) through = row;
    row = { sequence, link };
    isOver = at >= before;
    if (isOver) break;
  }
  if (!isOver && row.link.length > 0) through = row;
  return through.sequence > after.sequence ? { after, through } : undefined;
}

/**
 * Appends entries that keep the state of the records, then the checkpoint. Rejects with `conflict` if another process
 * appended a checkpoint after the walk from `after`, but before the first of these entries.
 */
async function appendCheckpoint(
  parts: PruneParts,
  after: AuditHead,
  checkpoint: Omit<Checkpoint, 'begin'>,
  kept: Iterable<readonly AuditEvent[]>,
): Promise<void> {
  const { store, follower, audit, rest } = parts;
  await follower.follow();
  const draft = (events: readonly AuditEvent[]) =>
    audit.draftAll(events.map((event) => ({ event, tenant_id: event.tenant_id })));
  let begin = 0;
  let waiting: AuditDraft[] = [];
  for (const events of kept) {
    if (begin === 0) {
      const { sequence } = await store.auditHead();
      await store.appendAudit([draft(events)]);
      begin = sequence + 1;
      const { through } = (await findCheckpoint(parts)) ?? { through: START };
      if (through.sequence !== after.sequence) throw prunedMeanwhile();
      continue;
    }
    waiting.push(draft(events));
    if (waiting.length < KEPT_ROWS) continue;
    await store.appendAudit(waiting);
    waiting = [];
    await rest();
  }
  if (waiting.length > 0) await store.appendAudit(waiting);
  // Another prune may have removed the rows that this process knew.
  await follower.follow();
  await store.appendAuthority(audit.draftAuthority(checkpointEvent({ ...checkpoint, begin })));
}

/** Removes the rows that the checkpoint covers, oldest first. Resolves to their number. */
async function removePruned(parts: PruneParts): Promise<number> {
  const { store, rest } = parts;
  const { through } = (await findCheckpoint(parts)) ?? { through: START };
  for (let removed = 0; ; ) {
    const first = (await firstSequence(parts)) ?? Number.POSITIVE_INFINITY;
    if (first > through.sequence) return removed;
    const limit = Math.min(MAX_ROWS, through.sequence - first + 1);
    removed += await removeSome(parts, await store.readAudit(0, limit));
    await rest();
  }
}

/** Removes the first of these consecutive rows, as many as a short transaction can. Resolves to their number. */
async function removeSome({ store, keyring }: PruneParts, rows: readonly AuditEntry[]): Promise<number> {
  const blinds = new Map<string, Uint8Array>();
  const [{ sequence: first } = { sequence: 0 }] = rows;
  let last = first - 1;
  for (const row of rows) {
    if (blinds.size >= MAX_SUBJECTS) break;
    for (const blind of loggedRow(keyring, row.sequence, openAny(keyring, row)).blinds)
      blinds.set(Buffer.from(blind).toString('latin1'), blind);
    last = row.sequence;
  }
  if (rows.length > 0) await store.pruneAudit(first, last, [...blinds.values()]);
  return last - first + 1;
}

/**
 * Resolves to whether the first entry is before `before`, or belongs to a prune that was interrupted. Reads only a few
 * rows.
 */
export async function isPruneDue({ store, keyring }: Pick<PruneParts, 'store' | 'keyring'>, before: Instant) {
  const [first] = await store.readAudit(0, 1);
  if (first === undefined) return false;
  if (first.at < before) return true;
  const checkpoint = await findCheckpoint({ store, keyring }).catch(() => undefined);
  return checkpoint !== undefined && checkpoint.through.sequence >= first.sequence;
}
