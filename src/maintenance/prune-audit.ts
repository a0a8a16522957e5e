import type { Audit } from '../core/audit/audit.ts';
import type { AuditEvent } from '../core/audit/audit-event.ts';
import { ROOT_CHAIN } from '../core/audit/audit-link.ts';
import { subjectsOf } from '../core/audit/audit-subjects.ts';
import { notedPlaces } from '../core/audit/chain-events.ts';
import {
  type Checkpoint,
  checkpointEvent,
  findBeginning,
  findCheckpoint,
  firstSequence,
  isPruned,
  prunedMeanwhile,
  type WalkStart,
} from '../core/audit/checkpoint.ts';
import { loggedRow, openAny } from '../core/audit/log-index.ts';
import type { AuditDraft, AuditEntry, AuditHead } from '../core/audit/ports.ts';
import { BrokenAudit, START, walkAudit } from '../core/audit/walk-audit.ts';
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
    const { heads } = await findBeginning(parts);
    [after] = heads;
    const sections = await sectionsBefore(parts, heads, before);
    const [root, ...chains] = sections;
    if (root === undefined) return { removed: resumed };
    const file = fileOf(root);
    const isReused = reuse && file.exists();
    // The ledger reads only the rows to remove.
    const ends = sections.map(({ through }) => ({ ...through, at: before }));
    const store = { ...parts.store, auditHeads: async () => ends };
    const { ledger, bad, latest } = await readLedger({ ...parts, store, rest: async () => nextTurn() });
    const [first] = bad;
    if (first !== undefined) throw new BrokenAudit(first, first.what);
    if (!isReused) await file.write(archiveLines(parts, sections));
    const archive = await verifyArchive(parts, file);
    if (!isSamePlace(archive.after, root.after) || !isSamePlace(archive.through, root.through)) {
      throw new Fault('file_exists', `${file.place} exists and holds other entries`);
    }
    const { through } = root;
    const checkpoint = { through, latest, digest: archive.digest, chains: chains.map((chain) => chain.through) };
    await appendCheckpoint(parts, heads, checkpoint, ledger.kept(through.sequence));
    return { archive, removed: resumed + (await removePruned(parts)) };
  } catch (error) {
    if (!(error instanceof BrokenAudit)) throw error;
    if (after !== undefined && (await isPruned(parts, after, error))) throw prunedMeanwhile(error);
    throw new Fault('damaged', error.message, { hint: 'run `vault doctor` to find all damage', cause: error });
  }
}

/**
 * Resolves to the rows to remove: the first rows of the root, then each chain that these open, whole. Resolves to an
 * empty list if there are none. All their events are earlier than `before`. Never separates two rows of the root
 * where the later one loads a snapshot of the earlier state, or closes the chain that the earlier one opened.
 */
async function sectionsBefore(parts: PruneParts, heads: WalkStart, before: Instant): Promise<readonly ArchivedRange[]> {
  const [after] = heads;
  const loads: { readonly first: number; readonly last: number }[] = [];
  const opened = new Map<string, { readonly first: number; readonly after: AuditHead }>();
  const closed = new Map<string, { readonly last: number; readonly through: AuditHead }>();
  const recent = new Set<string>();
  let last = after.sequence;
  let end = Number.POSITIVE_INFINITY;
  for await (const { chain, sequence, link, at, event } of walkAudit(parts, heads)) {
    await nextTurn();
    if (at >= before) recent.add(chain);
    if (chain !== ROOT_CHAIN) continue;
    last = sequence;
    if (at >= before) end = Math.min(end, sequence);
    const [name = ''] = event.entities;
    if (event.action === 'loadSnapshot') loads.push({ first: event.revision ?? 0, last });
    if (event.action === 'openChain') opened.set(name, { first: last, after: { chain: name, sequence: 0, link } });
    if (event.action === 'closeChain')
      for (const through of notedPlaces(event)) closed.set(through.chain, { last, through });
  }
  // A chain with a recent event stays, as an open one does.
  const chains = [...opened].map(([chain, begin]) => {
    const { last = Number.POSITIVE_INFINITY, through = begin.after } = (!recent.has(chain) && closed.get(chain)) || {};
    return { ...begin, last, through };
  });
  last = Math.min(last, end - 1);
  for (;;) {
    const separated = [...loads, ...chains].find((pair) => pair.first <= last && pair.last > last);
    if (separated === undefined) break;
    last = separated.first - 1;
  }
  if (last <= after.sequence) return [];
  const [row] = await parts.store.readAudit(ROOT_CHAIN, last - 1, 1);
  if (row?.sequence !== last) throw new BrokenAudit({ chain: ROOT_CHAIN, sequence: last }, 'is missing');
  const root = { after, through: { chain: ROOT_CHAIN, sequence: last, link: row.link } };
  return [root, ...chains.filter(({ first }) => first <= last)];
}

/**
 * Appends entries that keep the state of the records, then the checkpoint. Rejects with `conflict` if another process
 * loaded an older snapshot or appended a checkpoint after the walk from `heads`, but before the first of these entries.
 */
async function appendCheckpoint(
  parts: PruneParts,
  heads: WalkStart,
  checkpoint: Omit<Checkpoint, 'begin'>,
  kept: Iterable<readonly AuditEvent[]>,
): Promise<void> {
  const { store, audit, rest } = parts;
  const [after, ...leftOut] = heads;
  const draft = (events: readonly AuditEvent[]) =>
    audit.draftAll(events.map((event) => ({ event, tenant_id: event.tenant_id })));
  let begin = 0;
  let waiting: AuditDraft[] = [];
  for (const events of kept) {
    if (begin === 0) {
      // The first row stops other processes from loading an older snapshot. Then look for loads and checkpoints before.
      const { sequence } = await store.auditHead(ROOT_CHAIN);
      await store.appendAudit([draft(events)]);
      begin = sequence + 1;
      await refuseLoads(parts, [checkpoint.through, ...checkpoint.chains, ...leftOut]);
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
  await store.appendAudit([...waiting, draft([checkpointEvent({ ...checkpoint, begin })])]);
}

/** Rejects with `conflict` if an entry after `heads` loaded a snapshot of a state up to the row of the root. */
async function refuseLoads(parts: PruneParts, heads: WalkStart): Promise<void> {
  for await (const { event } of walkAudit(parts, heads)) {
    await nextTurn();
    if (event.action !== 'loadSnapshot' || (event.revision ?? 0) > heads[0].sequence) continue;
    throw new Fault('conflict', 'a snapshot was loaded meanwhile', { hint: 'run the command again' });
  }
}

/**
 * Removes the rows that the checkpoint covers. Resolves to their number. Removes each chain from its end, so that the
 * previous row of each row that is left exists. Then removes the rows of the root, oldest first.
 */
async function removePruned(parts: PruneParts): Promise<number> {
  const { store, rest } = parts;
  const { through, chains } = (await findCheckpoint(parts)) ?? { through: START, chains: [] };
  const names = new Set(chains.map(({ chain }) => chain));
  for (let removed = 0; ; ) {
    const first = (await firstSequence(parts)) ?? Number.POSITIVE_INFINITY;
    if (first > through.sequence) return removed;
    const ends = (await store.auditHeads()).filter(({ chain }) => names.has(chain));
    for (const { chain, sequence } of ends) {
      const rows = await store.readAudit(chain, Math.max(-1, sequence - MAX_ROWS), MAX_ROWS);
      removed += await removeSome(parts, rows.toReversed());
      await rest();
    }
    if (ends.length > 0) continue;
    const limit = Math.min(MAX_ROWS, through.sequence - first + 1);
    removed += await removeSome(parts, await store.readAudit(ROOT_CHAIN, 0, limit));
    await rest();
  }
}

/**
 * Removes the first of these consecutive rows, as many as a short transaction can. Resolves to their number, without
 * the row 0 of a chain.
 */
async function removeSome({ store, keyring }: PruneParts, rows: readonly AuditEntry[]): Promise<number> {
  const blinds = new Map<string, Uint8Array>();
  const sequences: number[] = [];
  for (const row of rows) {
    if (blinds.size >= MAX_SUBJECTS) break;
    for (const blind of blindsOf(keyring, row)) blinds.set(Buffer.from(blind).toString('latin1'), blind);
    sequences.push(row.sequence);
  }
  const [begin] = rows;
  if (begin === undefined) return 0;
  await store.pruneAudit(begin.chain, Math.min(...sequences), Math.max(...sequences), [...blinds.values()]);
  return sequences.filter((sequence) => sequence > 0).length;
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
