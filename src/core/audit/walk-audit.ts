import type { Keyring } from '../ports.ts';
import { Problem } from '../problem.ts';
import { type AuditEvent, decodeEvents, type TimedEvent } from './audit-event.ts';
import { NO_LINK } from './audit-link.ts';
import type { AuditEntry, AuditHead, AuditPlace, AuditStore } from './ports.ts';

/** The number of rows in one read. */
const PAGE = 100;

export const START: AuditHead = { sequence: 0, link: NO_LINK };

/** An opened entry with its place. */
export interface PlacedEvent extends AuditPlace, TimedEvent {
  /** The link of its row. */
  readonly link: Uint8Array;
}

/** The error for damage in the audit. `sequence` is the first wrong row. */
export class BrokenAudit extends Error {
  override readonly name = 'BrokenAudit';
  readonly sequence: number;
  readonly what: string;

  constructor(sequence: number, what: string) {
    super(`row ${sequence} of the audit ${what}`);
    this.sequence = sequence;
    this.what = what;
  }
}

export interface AuditParts {
  readonly store: AuditStore;
  readonly keyring: Pick<Keyring, 'auditLink' | 'openAuditEvent'>;
}

/**
 * Yields the events after `from` in order, and checks the chain before each row. Throws `BrokenAudit` at a row that was
 * altered, removed, added or moved. Only a comparison with a recorded end of the chain detects missing rows at the end.
 */
export async function* walkAudit({ store, keyring }: AuditParts, from: AuditHead = START): AsyncGenerator<PlacedEvent> {
  let head = from;
  for (;;) {
    const entries = await store.readAudit(head.sequence, PAGE);
    for (const entry of entries) {
      yield* openNext(keyring, head, entry);
      head = entry;
    }
    if (entries.length < PAGE) return;
  }
}

/** Returns the events of the row after `head`. Throws `BrokenAudit` if `entry` is not that row. */
function openNext(
  keyring: AuditParts['keyring'],
  head: AuditHead,
  entry: AuditEntry | undefined,
): readonly PlacedEvent[] {
  if (entry?.sequence !== head.sequence + 1) throw new BrokenAudit(head.sequence + 1, 'is missing');
  const { sequence, at, sealed, link } = entry;
  if (Buffer.compare(keyring.auditLink(head.link, { sequence, at, sealed }), link) !== 0) {
    throw new BrokenAudit(sequence, 'was altered or moved');
  }
  return openRow(keyring, entry);
}

/** Resolves to the event at a place. Checks the link of its row to the previous row. Rejects with `BrokenAudit`. */
export async function openPlace({ store, keyring }: AuditParts, { sequence, n }: AuditPlace): Promise<AuditEvent> {
  const entries = await store.readAudit(Math.max(0, sequence - 2), Math.min(sequence, 2));
  const head = sequence === 1 ? START : entries[0];
  if (head?.sequence !== sequence - 1) throw new BrokenAudit(sequence - 1, 'is missing');
  const placed = openNext(keyring, head, entries.at(-1))[n - 1];
  if (placed === undefined) throw new BrokenAudit(sequence, `has no entry ${n}`);
  return placed.event;
}

/** Returns the events of a row without checking the chain. Throws `BrokenAudit` for a row that does not open. */
export function openRow(
  keyring: AuditParts['keyring'],
  { sequence, at, sealed, link }: AuditEntry,
): readonly PlacedEvent[] {
  try {
    const events = decodeEvents(at, keyring.openAuditEvent(at, sealed));
    return events.map((timed, index) => ({ sequence, n: index + 1, link, ...timed }));
  } catch (error) {
    if (error instanceof Problem && error.code === 'integrity_failure') {
      throw new BrokenAudit(sequence, 'does not open');
    }
    throw error;
  }
}

/** Resolves to at most `limit` of the last events that match `wanted`, newest first. Does not check the chain. */
export async function lastEvents(
  { store, keyring }: AuditParts,
  wanted: (placed: PlacedEvent) => boolean,
  limit: number,
): Promise<readonly PlacedEvent[]> {
  const found: PlacedEvent[] = [];
  let before = (await store.auditHead()).sequence + 1;
  while (before > 1 && found.length < limit) {
    const first = Math.max(1, before - PAGE);
    const entries = await store.readAudit(first - 1, before - first);
    const placed = entries.flatMap((entry) => openRow(keyring, entry));
    found.push(...placed.reverse().filter(wanted));
    before = first;
  }
  return found.slice(0, limit);
}
