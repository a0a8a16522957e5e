import type { Keyring } from '../ports.ts';
import { Problem } from '../problem.ts';
import { decodeEvents, type TimedEvent } from './audit-event.ts';
import { START } from './audit-link.ts';
import type { AuditEntry, AuditHead, AuditPlace, AuditReads } from './ports.ts';

/** The number of rows in one read. */
const PAGE = 100;

/** An opened entry with its place. */
export interface PlacedEvent extends AuditPlace, TimedEvent {
  /** The link of its row. */
  readonly link: Uint8Array;
}

/** The error for damage in the audit, at the first wrong row. */
export class BrokenAudit extends Error {
  override readonly name = 'BrokenAudit';
  readonly sequence: number;
  readonly what: string;

  constructor({ sequence }: Pick<AuditPlace, 'sequence'>, what: string) {
    super(`row ${sequence} of the audit ${what}`);
    this.sequence = sequence;
    this.what = what;
  }
}

/** Returns the problem `integrity_failure` for damage in the audit, and any other error unchanged. */
export function problemOf(cause: unknown): unknown {
  return cause instanceof BrokenAudit ? new Problem('integrity_failure', { cause }) : cause;
}

export interface AuditParts {
  readonly store: Pick<AuditReads, 'readAudit' | 'auditHead'>;
  readonly keyring: Pick<Keyring, 'auditLink' | 'openAuditEvent' | 'auditSubject'>;
}

/**
 * Yields the events after `from` up to now, and checks the links before each row. Throws `BrokenAudit` at a row that was
 * altered, removed, added or moved. Missing rows at the end are only detected by a comparison with a recorded end.
 */
export async function* walkAudit(parts: AuditParts, from: AuditHead = START): AsyncGenerator<PlacedEvent> {
  const { store, keyring } = parts;
  const { sequence: end } = await store.auditHead();
  let head = from;
  while (head.sequence < end) {
    const entries = await store.readAudit(head.sequence, Math.min(PAGE, end - head.sequence));
    if (entries.length === 0) openNext(keyring, head, undefined);
    for (const entry of entries) {
      yield* openNext(keyring, head, entry);
      head = entry;
    }
  }
}

/** Returns the events of the row after `head`. Throws `BrokenAudit` if `entry` is not that row. */
function openNext(keyring: AuditParts['keyring'], head: AuditHead, entry: AuditEntry | undefined) {
  const next = { sequence: head.sequence + 1 };
  if (entry?.sequence !== next.sequence) throw new BrokenAudit(next, 'is missing');
  if (Buffer.compare(keyring.auditLink(head.link, entry), entry.link) !== 0) {
    throw new BrokenAudit(entry, 'was altered or moved');
  }
  return openRow(keyring, entry);
}

/**
 * Resolves to the event at a place. Checks the link of its row to the previous row, or to `before` if that is the
 * previous row. Rejects with `BrokenAudit`.
 */
export async function openPlace({ store, keyring }: AuditParts, place: AuditPlace, before: AuditHead = START) {
  const { sequence, n } = place;
  const isFirst = before.sequence === sequence - 1;
  const entries = await store.readAudit(isFirst ? sequence - 1 : sequence - 2, isFirst ? 1 : 2);
  const head = isFirst ? before : entries[0];
  if (head?.sequence !== sequence - 1) throw new BrokenAudit({ sequence: sequence - 1 }, 'is missing');
  const placed = openNext(keyring, head, entries.at(-1))[n - 1];
  if (placed === undefined) throw new BrokenAudit(place, `has no entry ${n}`);
  return placed.event;
}

/** Returns the events of a row without checking its link. Throws `BrokenAudit` for a row that does not open. */
export function openRow(
  keyring: AuditParts['keyring'],
  { sequence, at, sealed, link }: AuditEntry,
): readonly PlacedEvent[] {
  try {
    const events = decodeEvents(at, keyring.openAuditEvent(at, sealed));
    return events.map((timed, index) => ({ sequence, n: index + 1, link, ...timed }));
  } catch (error) {
    if (error instanceof Problem && error.code === 'integrity_failure') {
      throw new BrokenAudit({ sequence }, 'cannot be decrypted');
    }
    throw error;
  }
}

/** Resolves to at most `limit` of the last events that match `wanted`, newest first. Does not check the links. */
export async function lastEvents(
  { store, keyring }: AuditParts,
  wanted: (placed: PlacedEvent) => boolean,
  limit: number,
): Promise<readonly PlacedEvent[]> {
  const found: PlacedEvent[] = [];
  for await (const row of rowsBackwards(store, (await store.auditHead()).sequence)) {
    found.push(...openRow(keyring, row).toReversed().filter(wanted));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

/** Yields the rows from `last` down to `first`, or to the first row that a prune kept. */
export async function* rowsBackwards(
  store: AuditParts['store'],
  last: number,
  first = 1,
  page = PAGE,
): AsyncGenerator<AuditEntry> {
  for (let end = last; end >= first; end -= page) {
    const after = Math.max(first - 1, end - page);
    // After a prune, the page may be empty, or contain later rows.
    const rows = (await store.readAudit(after, end - after)).filter(({ sequence }) => sequence <= end);
    if (rows.length === 0) return;
    yield* rows.toReversed();
  }
}
