import type { Audit } from '../core/audit/audit.ts';
import type { AuditEvent } from '../core/audit/audit-event.ts';
import { ROOT_CHAIN } from '../core/audit/audit-link.ts';
import { subjectsOf } from '../core/audit/audit-subjects.ts';
import { checkpointEvent, findBeginning, findCheckpoint, firstSequence, isPruned } from '../core/audit/checkpoint.ts';
import { loggedRow, openAny } from '../core/audit/log-index.ts';
import type { AuditDraft, AuditEntry, AuditHead } from '../core/audit/ports.ts';
import { BrokenAudit, walkAudit } from '../core/audit/walk-audit.ts';
import { Fault } from '../core/fault.ts';
import type { ArchiveFile } from '../core/maintenance-ports.ts';
import { createPace } from '../core/own-turn.ts';
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
  readonly audit: Pick<Audit, 'draftAll'>;
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
    after = (await findBeginning(parts)).head;
    const range = await rangeBefore(parts, after, before);
    if (range === undefined) return { removed: resumed };
    const file = fileOf(range);
    const isReused = reuse && file.exists();
    const { ledger, bad, latest } = await readLedger({ ...parts, rest: paced(), upTo: range.through.sequence });
    const [first] = bad;
    if (first !== undefined) throw new BrokenAudit(first, first.what);
    if (!isReused) await file.write(archiveLines(parts, range));
    const archive = await verifyArchive(parts, file);
    if (!isSamePlace(archive.after, range.after) || !isSamePlace(archive.through, range.through)) {
      throw new Fault('file_exists', `${file.place} exists and holds other entries`);
    }
    await appendCheckpoint(parts, { range, latest, digest: archive.digest, kept: ledger.kept(range.through.sequence) });
    return { archive, removed: resumed + (await removePruned(parts)) };
  } catch (error) {
    if (!(error instanceof BrokenAudit)) throw error;
    if (after !== undefined && (await isPruned(parts, after, error))) {
      throw new Fault('conflict', 'entries were pruned meanwhile', { hint: 'run the command again', cause: error });
    }
    throw new Fault('damaged', error.message, { hint: 'run `vault doctor` to find all damage', cause: error });
  }
}

/**
 * Resolves to the rows of the root to remove; undefined if there are none. All their events are before `before`. A row
 * stays if a later entry loaded a snapshot that was saved at or before it, or if it opened another chain.
 */
async function rangeBefore(parts: PruneParts, after: AuditHead, before: Instant) {
  const chains = new Set((await parts.store.auditHeads()).map(({ chain }) => chain));
  const loads: { readonly at: number; readonly of: number }[] = [];
  let last = after.sequence;
  let seen = after.sequence;
  let isOpen = true;
  const pace = createPace();
  for await (const { chain, sequence, at, event } of walkAudit(parts, [after])) {
    await pace();
    if (chain !== ROOT_CHAIN) continue;
    if (isOpen && sequence > seen) last = seen;
    seen = Math.max(seen, sequence);
    if (at >= before || (event.action === 'openChain' && chains.has(event.entities[0] ?? ''))) isOpen = false;
    if (event.action === 'loadSnapshot') loads.push({ at: sequence, of: event.revision ?? 0 });
  }
  if (isOpen) last = seen;
  for (const { at, of } of loads.toReversed()) if (at > last && of <= last) last = of - 1;
  if (last <= after.sequence) return undefined;
  const [row] = await parts.store.readAudit(ROOT_CHAIN, last - 1, 1);
  if (row?.sequence !== last) throw new BrokenAudit({ chain: ROOT_CHAIN, sequence: last }, 'is missing');
  return { after, through: { chain: ROOT_CHAIN, sequence: last, link: row.link } };
}

interface NewCheckpoint {
  readonly range: { readonly through: AuditHead };
  readonly latest: Instant;
  readonly digest: string;
  readonly kept: Iterable<readonly AuditEvent[]>;
}

async function appendCheckpoint(
  { store, keyring, audit, rest }: PruneParts,
  { range: { through }, latest, digest, kept }: NewCheckpoint,
): Promise<void> {
  const draft = (events: readonly AuditEvent[]) =>
    audit.draftAll(events.map((event) => ({ event, tenant_id: event.tenant_id })));
  let begin = 0;
  let waiting: AuditDraft[] = [];
  for (const events of kept) {
    if (begin === 0) {
      // The first row stops other processes from loading an older snapshot. Then check that none was loaded before.
      const { sequence } = await store.auditHead(ROOT_CHAIN);
      await store.appendAudit([draft(events)]);
      begin = sequence + 1;
      await refuseLoads({ store, keyring }, through);
      continue;
    }
    waiting.push(draft(events));
    if (waiting.length < KEPT_ROWS) continue;
    await store.appendAudit(waiting);
    waiting = [];
    await rest();
  }
  await store.appendAudit([...waiting, draft([checkpointEvent({ through, latest, begin, digest })])]);
}

/** Throws `conflict` if an entry after `through` loaded a snapshot that was saved at or before `through`. */
async function refuseLoads(parts: Pick<PruneParts, 'store' | 'keyring'>, through: AuditHead): Promise<void> {
  const pace = createPace();
  for await (const { event } of walkAudit(parts, [through])) {
    await pace();
    if (event.action !== 'loadSnapshot' || (event.revision ?? 0) > through.sequence) continue;
    throw new Fault('conflict', 'a snapshot was loaded meanwhile', { hint: 'run the command again' });
  }
}

/** Returns a function that yields to the event loop when the current turn has taken a few milliseconds. */
function paced(): () => Promise<void> {
  const pace = createPace();
  return async () => pace();
}

/** Removes the rows that the last checkpoint covers. Resolves to their number. */
async function removePruned({ store, keyring, rest }: PruneParts): Promise<number> {
  const checkpoint = await findCheckpoint({ store, keyring });
  let removed = 0;
  for (;;) {
    const first = await firstSequence({ store });
    const left = (checkpoint?.through.sequence ?? 0) - (first ?? 0) + 1;
    if (first === undefined || left <= 0) return removed;
    const rows = await store.readAudit(ROOT_CHAIN, 0, Math.min(MAX_ROWS, left));
    const blinds = new Map<string, Uint8Array>();
    let last = 0;
    for (const row of rows) {
      if (blinds.size >= MAX_SUBJECTS) break;
      for (const blind of blindsOf(keyring, row)) blinds.set(Buffer.from(blind).toString('latin1'), blind);
      last = row.sequence;
      removed += 1;
    }
    await store.pruneAudit(ROOT_CHAIN, first, last, [...blinds.values()]);
    await rest();
  }
}

/** Returns the blind indexes of a row in both indexes of the audit. */
function blindsOf(keyring: PruneParts['keyring'], row: AuditEntry): readonly Uint8Array[] {
  const placed = openAny(keyring, row);
  const subjects = placed.flatMap(({ event }) => subjectsOf(event, event.tenant_id));
  return [...subjects.map((one) => keyring.auditSubject(one)), ...loggedRow(keyring, row.sequence, placed).blinds];
}

/**
 * Resolves to whether the first entry is before `before`, or belongs to a prune that was interrupted. Reads only a few
 * rows.
 */
export async function isPruneDue({ store, keyring }: Pick<PruneParts, 'store' | 'keyring'>, before: Instant) {
  const [first] = await store.readAudit(ROOT_CHAIN, 0, 1);
  if (first === undefined) return false;
  if (first.at < before) return true;
  const checkpoint = await findCheckpoint({ store, keyring }).catch(() => undefined);
  return checkpoint !== undefined && checkpoint.through.sequence >= first.sequence;
}
