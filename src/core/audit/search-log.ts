import { ownTurn } from '../own-turn.ts';
import type { Instant } from '../ports.ts';
import { Problem } from '../problem.ts';
import { isDenied } from './audit-level.ts';
import { type LogEntry, logEntriesOf } from './log-entries.ts';
import { indexLog, type LogParts } from './log-index.ts';
import { comparePlaces, type LogPlace, parseLogId } from './log-place.ts';
import type { AuditEntry } from './ports.ts';
import { BrokenAudit, openRow, type PlacedEvent } from './walk-audit.ts';

/** The maximum number of events that one call opens, and of those in one row, which is opened whole. */
const MAX_OPENED = 5_000;
const MAX_EVENTS_OF_ROW = 1_024;
/** Opened events before other calls get a turn. */
const SLICE = 250;
/** The number of rows in one read. */
const PAGE = 50;
/** The number of rows that the log index need not cover: opening them is faster than writing the index. */
const MAX_TAIL = 100;
/** How much later than its events a row may be written, in milliseconds: rows are in the order of writing. */
const SLACK_MS = 60 * 60 * 1000;

/** A query of a tenant's log. Times range from `start_at` to before `end_at`. */
export interface LogQuestion {
  readonly tenant_id: string;
  readonly entity_type?: string | undefined;
  readonly entity_id?: string | undefined;
  readonly actor_id?: string | undefined;
  readonly operation?: string | undefined;
  readonly denied?: boolean | undefined;
  readonly start_at?: Instant | undefined;
  readonly end_at?: Instant | undefined;
  /** Only older entries. */
  readonly before?: LogPlace | undefined;
  /** Only newer entries. */
  readonly after?: LogPlace | undefined;
  readonly size: number;
}

export interface FoundLog {
  /** Newest first. */
  readonly entries: readonly LogEntry[];
  /** Older entries may exist before this place. */
  readonly next?: LogPlace;
  /** The time of the last examined row, if the page was not full by then. */
  readonly searched_to?: Instant;
}

/**
 * Finds entries, newest first. A query by entity or actor opens the rows that the log index names, and those that it
 * does not cover yet. Any other query opens row after row, and stops after `MAX_OPENED` events. Throws
 * `integrity_failure`.
 */
export async function searchLog(parts: LogParts, question: LogQuestion): Promise<FoundLog> {
  const { before, after = [0, 0, 0], size, start_at = 0 } = question;
  const found: LogEntry[] = [];
  let opened = 0;
  let inSlice = 0;
  let last: AuditEntry | undefined;
  for await (const row of rowsBackwards(parts, question)) {
    if (row.at < start_at - SLACK_MS) break;
    if (last !== undefined && opened + MAX_EVENTS_OF_ROW > MAX_OPENED) {
      return { entries: found, next: [last.sequence, 0, 0], searched_to: last.at };
    }
    const placed = openOrFail(parts, row);
    for (const entry of placed.toReversed().flatMap((one) => wantedOf(one, question).toReversed())) {
      const place = parseLogId(entry.id);
      if (comparePlaces(place, after) <= 0 || (before && comparePlaces(place, before) >= 0)) continue;
      if (found.length === size) return { entries: found, next: parseLogId(found.at(-1)?.id ?? '') };
      found.push(entry);
    }
    last = row;
    opened += placed.length;
    inSlice += placed.length;
    if (inSlice < SLICE) continue;
    inSlice = 0;
    await ownTurn();
  }
  return { entries: found };
}

function openOrFail({ keyring }: LogParts, row: AuditEntry): readonly PlacedEvent[] {
  try {
    return openRow(keyring, row);
  } catch (cause) {
    throw cause instanceof BrokenAudit ? new Problem('integrity_failure', { cause }) : cause;
  }
}

/** Returns the entries of an event that match the query, whatever their place. */
function wantedOf(placed: PlacedEvent, question: LogQuestion): readonly LogEntry[] {
  const { tenant_id, entity_type, entity_id, actor_id, operation, denied, start_at, end_at } = question;
  const { at, event } = placed;
  if (operation !== undefined && event.action !== operation) return [];
  if (actor_id !== undefined && event.application_id !== actor_id) return [];
  if (denied !== undefined && isDenied(event.status) !== denied) return [];
  if ((start_at !== undefined && at < start_at) || (end_at !== undefined && at >= end_at)) return [];
  return logEntriesOf(placed, tenant_id).filter(
    (entry) =>
      (entity_type === undefined || entry.entity_type === entity_type) &&
      (entity_id === undefined || entry.entity_id === entity_id),
  );
}

/** Yields the rows that may have entries, last first. */
async function* rowsBackwards(parts: LogParts, question: LogQuestion): AsyncGenerator<AuditEntry> {
  const { store } = parts;
  const [floor = 1] = question.after ?? [];
  const { sequence: head } = await store.auditHead();
  const [sequence = head, n = 1] = question.before ?? [];
  const asked = Math.min(head, n === 0 ? sequence - 1 : sequence);
  let at = 1 + (question.end_at === undefined ? asked : await lastBefore(parts, question.end_at + SLACK_MS, asked));
  const blinds = blindsOf(parts, question);
  const covered = blinds === undefined ? 0 : await coveredUpTo(parts, head);
  const tail = Math.max(floor, covered + 1);
  while (at > tail) {
    const first = Math.max(tail, at - PAGE);
    yield* (await store.readAudit(first - 1, at - first)).toReversed();
    at = first;
  }
  while (blinds !== undefined && at > floor) {
    const named = await store.findLogged(blinds, at, PAGE);
    for (const sequence of named) {
      if (sequence < floor) return;
      yield* await store.readAudit(sequence - 1, 1);
    }
    if (named.length < PAGE) return;
    at = named.at(-1) ?? 0;
  }
}

/** Returns the end of the log index. If the uncovered tail is long, first covers as much as one call may. */
async function coveredUpTo(parts: LogParts, head: number): Promise<number> {
  const covered = await parts.store.logIndexEnd();
  if (head - covered <= MAX_TAIL) return covered;
  try {
    await indexLog(parts, MAX_OPENED);
  } catch (error) {
    // A vault that accepts no writes still answers.
    if (!(error instanceof Problem)) throw error;
  }
  return parts.store.logIndexEnd();
}

/** Returns the last row up to `head` that was written before `time`, or one just after it. */
async function lastBefore({ store }: LogParts, time: Instant, head: number): Promise<number> {
  let [low, high] = [0, head];
  while (high - low > PAGE) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await store.readAudit(middle - 1, 1);
    if (row !== undefined && row.at < time) low = middle;
    else high = middle;
  }
  return high;
}

function blindsOf({ keyring }: LogParts, { tenant_id, entity_id, actor_id }: LogQuestion) {
  const blind = (kind: 'entity' | 'token' | 'application' | 'actor', id: string) =>
    keyring.auditSubject({ kind, tenant_id, id });
  if (entity_id !== undefined)
    return (['entity', 'token', 'application'] as const).map((kind) => blind(kind, entity_id));
  return actor_id === undefined ? undefined : [blind('actor', actor_id)];
}
