import { Fault } from '../fault.ts';
import type { Instant } from '../ports.ts';
import type { AuditEvent } from './audit-event.ts';
import { decodePlace, encodePlace, START } from './audit-link.ts';
import { authorityRows, findEnd } from './authority-rows.ts';
import type { FollowKeys } from './follow-rows.ts';
import type { AuditHead, AuditReads } from './ports.ts';
import { type AuditParts, BrokenAudit, openRow, type PlacedEvent, walkAudit } from './walk-audit.ts';

/** The number of rows in one read. */
const PAGE = 100;

export interface CheckpointParts extends AuditParts {
  readonly store: AuditReads;
  readonly keyring: AuditParts['keyring'] & FollowKeys;
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

export function checkpointEvent({ through, latest, begin, digest }: Checkpoint): AuditEvent {
  return {
    action: 'pruneAudit',
    status: 200,
    entities: [encodePlace(through), String(latest), String(begin), digest],
  };
}

function readCheckpoint({ entities }: AuditEvent): Checkpoint {
  const [through = '', latest, begin, digest = ''] = entities;
  return { through: decodePlace(through), latest: Number(latest), begin: Number(begin), digest };
}

type FoundCheckpoint = Checkpoint & { readonly sequence: number };

/**
 * Resolves to the checkpoint at which the audit begins, or to undefined if nothing was pruned. This is the last one, or
 * an earlier one that covers more rows: two prunes may run at the same time. Searches back to the first row that the
 * prune of the found checkpoint appended. All checkpoints before that row cover fewer rows, because a prune gives up if
 * a new one exists there. Rejects with `BrokenAudit`.
 */
export async function findCheckpoint(parts: CheckpointParts): Promise<FoundCheckpoint | undefined> {
  const { authority } = await findEnd(parts);
  let found: FoundCheckpoint | undefined;
  for await (const { sequence, event } of authorityRows(parts, authority)) {
    if (sequence < (found?.begin ?? 0)) break;
    if (event.action !== 'pruneAudit') continue;
    const next = { ...readCheckpoint(event), sequence };
    if (found === undefined || next.through.sequence > found.through.sequence) found = next;
  }
  return found;
}

/** The row after which a walk begins, and the checkpoint that names it. */
interface Beginning {
  readonly head: AuditHead;
  /** Absent if the walk begins at the first row. */
  readonly checkpoint?: FoundCheckpoint;
}

/** Resolves to the start of a walk over all rows that are left. Rejects with `BrokenAudit`. */
export async function findBeginning(parts: CheckpointParts): Promise<Beginning> {
  const first = (await firstSequence(parts)) ?? 1;
  const checkpoint = await findCheckpoint(parts).catch((error: unknown) => {
    // A walk from the first row reports the damage.
    if (first === 1 && error instanceof BrokenAudit) return undefined;
    throw error;
  });
  return checkpoint === undefined || first === 1 ? { head: START } : { head: checkpoint.through, checkpoint };
}

/** Resolves to the sequence of the first row, or to undefined without rows. */
export async function firstSequence({ store }: Pick<AuditParts, 'store'>): Promise<number | undefined> {
  const [first] = await store.readAudit(0, 1);
  return first?.sequence;
}

/** Yields the events that keep the state of the records at a checkpoint. Rejects with `BrokenAudit`. */
export async function* keptEvents({ store, keyring }: AuditParts, { begin, sequence, through }: FoundCheckpoint) {
  for (let after = begin - 1; after < sequence - 1; ) {
    const rows = await store.readAudit(after, Math.min(PAGE, sequence - 1 - after));
    for (const row of rows) {
      for (const placed of openRow(keyring, row)) if (placed.event.as_of === through.sequence) yield placed;
    }
    after = rows.at(-1)?.sequence ?? sequence;
  }
}

/**
 * Yields the events from the beginning up to now, as `walkAudit` does. Rejects with the fault `conflict` if a prune
 * removes rows meanwhile.
 */
export async function* walkWholeAudit(parts: CheckpointParts): AsyncGenerator<PlacedEvent> {
  const { head } = await findBeginning(parts);
  try {
    yield* walkAudit(parts, head);
  } catch (error) {
    if (!(await isPruned(parts, head, error))) throw error;
    throw prunedMeanwhile(error);
  }
}

/** Returns the fault `conflict` of a command during which another process pruned the audit. */
export function prunedMeanwhile(cause?: unknown): Fault {
  return new Fault('conflict', 'entries were pruned meanwhile', { hint: 'run the command again', cause });
}

/** Resolves to whether a prune since `head` explains the error of a walk that began there. */
export async function isPruned(parts: CheckpointParts, head: AuditHead, error: unknown): Promise<boolean> {
  return error instanceof BrokenAudit && hasMoved(parts, head);
}

/** Resolves to whether the walk no longer begins at `head`, because of a prune. Rejects with `BrokenAudit`. */
export async function hasMoved(parts: CheckpointParts, head: AuditHead): Promise<boolean> {
  return (await findBeginning(parts)).head.sequence !== head.sequence;
}
