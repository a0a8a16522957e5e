import { Fault } from '../fault.ts';
import type { PruneMark } from '../maintenance-ports.ts';
import type { Instant, Keyring } from '../ports.ts';
import type { AuditEvent } from './audit-event.ts';
import { ROOT_CHAIN } from './audit-link.ts';
import { type AuditSubject, PRUNE_BEGUN, PRUNE_DONE } from './audit-subjects.ts';
import { decodePlace, encodePlace } from './chain-events.ts';
import type { AuditHead, AuditPlace } from './ports.ts';
import { type AuditParts, BrokenAudit, openPlace, openRow, type PlacedEvent, START, walkAudit } from './walk-audit.ts';

/** The number of rows in one read. */
const PAGE = 100;

export interface CheckpointParts extends AuditParts {
  readonly keyring: AuditParts['keyring'] & Pick<Keyring, 'auditSubject'>;
}

/**
 * The entry of a prune. Entries before it keep the state of the records at the last removed row, so that the walk can
 * begin after this row.
 */
export interface Checkpoint {
  /** The last removed row. */
  readonly through: AuditHead;
  /** The time of the latest removed event. */
  readonly latest: Instant;
  /** The first row that keeps records. */
  readonly begin: number;
  /** The SHA-256 of the archive, in hex. */
  readonly digest: string;
}

/** Returns the entry of a checkpoint. */
export function checkpointEvent({ through, latest, begin, digest }: Checkpoint): AuditEvent {
  return {
    action: 'pruneAudit',
    status: 200,
    entities: [encodePlace(through), String(latest), String(begin), digest],
  };
}

/** Returns the checkpoint of an entry from `checkpointEvent`. */
export function readCheckpoint({ entities }: AuditEvent): Checkpoint {
  const [through = '', latest, begin, digest = ''] = entities;
  return { through: decodePlace(through), latest: Number(latest), begin: Number(begin), digest };
}

type FoundCheckpoint = Checkpoint & { readonly place: AuditPlace };

/**
 * Resolves to the checkpoint at which the audit begins, or to undefined if nothing was pruned. This is the last one, or
 * an earlier one that covers more rows: two prunes may run at the same time. Rejects with `BrokenAudit`.
 */
export async function findCheckpoint(parts: CheckpointParts): Promise<FoundCheckpoint | undefined> {
  const first = (await firstSequence(parts)) ?? 0;
  let last: FoundCheckpoint | undefined;
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const place = await lastPlace(parts, PRUNE_DONE, before);
    if (place === undefined) return last;
    const found = await openCheckpoint(parts, place);
    if (found.through.sequence >= first - 1) return found;
    last ??= found;
    before = place.sequence - 1;
  }
}

async function openCheckpoint(parts: CheckpointParts, place: AuditPlace): Promise<FoundCheckpoint> {
  // The row before exists, because a checkpoint keeps at least the header.
  const event = await openPlace(parts, place);
  if (event.action !== 'pruneAudit') throw new BrokenAudit(place, 'is not the checkpoint that the index names');
  return { place, ...readCheckpoint(event) };
}

/** Resolves to the beginning of the last prune, even of one that was interrupted. Rejects with `BrokenAudit`. */
export async function findBegunPrune(parts: CheckpointParts): Promise<PruneMark> {
  const place = await lastPlace(parts, PRUNE_BEGUN, Number.MAX_SAFE_INTEGER);
  const blind = parts.keyring.auditSubject(PRUNE_BEGUN);
  if (place === undefined) return { blind, sequence: 0, through: 0 };
  const { as_of: through = 0 } = await openKeptPlace(parts, place);
  return { blind, sequence: place.sequence, through };
}

async function lastPlace(
  { store, keyring }: CheckpointParts,
  subject: AuditSubject,
  before: number,
): Promise<AuditPlace | undefined> {
  const places = await store.findAudited([keyring.auditSubject(subject)], before);
  return places.find(({ chain }) => chain === ROOT_CHAIN);
}

/** Resolves to the event at a place, as `openPlace` does, even if a prune removed the row before. */
export async function openKeptPlace(parts: CheckpointParts, place: AuditPlace): Promise<AuditEvent> {
  try {
    return await openPlace(parts, place);
  } catch (error) {
    if (!(error instanceof BrokenAudit) || error.sequence !== place.sequence - 1) throw error;
    const checkpoint = await findCheckpoint(parts);
    if (checkpoint?.through.sequence !== error.sequence) throw error;
    return openPlace(parts, place, checkpoint.through);
  }
}

/** The place where a walk of the root begins, and the checkpoint that names it. */
interface Beginning {
  readonly head: AuditHead;
  /** Absent while the first row exists. */
  readonly checkpoint?: FoundCheckpoint | undefined;
}

/** Resolves to the place where a walk of the root begins. Rejects with `BrokenAudit`. */
export async function findBeginning(parts: CheckpointParts): Promise<Beginning> {
  const first = await firstSequence(parts);
  if (first === undefined || first === 1) return { head: START };
  const checkpoint = await findCheckpoint(parts);
  return { head: checkpoint?.through ?? START, checkpoint };
}

/** Resolves to the sequence of the first row of the root, or to undefined without rows. */
export async function firstSequence({ store }: Pick<AuditParts, 'store'>): Promise<number | undefined> {
  const [first] = await store.readAudit(ROOT_CHAIN, 0, 1);
  return first?.sequence;
}

/** Yields the events that keep the state of the records at a checkpoint. Rejects with `BrokenAudit`. */
export async function* keptEvents(
  { store, keyring }: AuditParts,
  { begin, place, through }: FoundCheckpoint,
): AsyncGenerator<PlacedEvent> {
  for (let after = begin - 1; after < place.sequence - 1; ) {
    const rows = await store.readAudit(ROOT_CHAIN, after, Math.min(PAGE, place.sequence - 1 - after));
    for (const row of rows) {
      for (const placed of openRow(keyring, row)) if (placed.event.as_of === through.sequence) yield placed;
    }
    after = rows.at(-1)?.sequence ?? place.sequence;
  }
}

/**
 * Yields the events from the beginning up to now, as `walkAudit` does. Rejects with the fault `conflict` if a prune
 * removes rows meanwhile.
 */
export async function* walkWholeAudit(parts: CheckpointParts): AsyncGenerator<PlacedEvent> {
  const { head } = await findBeginning(parts);
  try {
    yield* walkAudit(parts, [head]);
  } catch (error) {
    if (!(await isPruned(parts, head, error))) throw error;
    throw new Fault('conflict', 'entries were pruned meanwhile', { hint: 'run the command again', cause: error });
  }
}

/** Resolves to whether a prune since `head` explains the error of a walk that began there. */
export async function isPruned(parts: CheckpointParts, head: AuditHead, error: unknown): Promise<boolean> {
  if (!(error instanceof BrokenAudit)) return false;
  return (await findBeginning(parts)).head.sequence !== head.sequence;
}
