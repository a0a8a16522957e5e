import type { Instant } from '../ports.ts';
import { invalid, Problem } from '../problem.ts';
import { nextSlice } from '../slices.ts';
import { isDenied } from './audit-level.ts';
import { type LogEntry, logEntriesOf, type VaultLogEntry } from './log-entries.ts';
import { indexLog, type LogIndexParts } from './log-index.ts';
import { comparePositions, type LogPosition, parseLogId } from './log-position.ts';
import type { AuditEntry } from './ports.ts';
import { openRow, type PositionedEvent, problemOf, rowsBackwards } from './walk-audit.ts';

/** The maximum number of events that one call opens, and the maximum in one row. A row is always opened as a whole. */
const MAX_OPENED = 5_000;
const MAX_EVENTS_OF_ROW = 1_024;
/** The maximum number of events that a call for a page by number opens. */
const MAX_OPENED_FOR_PAGE = 50_000;
/** The number of rows in one read. */
const PAGE = 50;
/**
 * The maximum number of rows outside the log index that a query opens. Opening so few is faster than writing the index.
 */
const MAX_TAIL = 100;
/** The maximum delay between an event and the writing of its row, in milliseconds. Rows are in the order of writing. */
export const SLACK_MS = 60 * 60 * 1000;

/** A query of a log. Times range from `start_at` to before `end_at`. */
export interface LogSelection {
  readonly entity_type?: string | undefined;
  readonly entity_id?: string | undefined;
  readonly actor_id?: string | undefined;
  readonly operation?: string | undefined;
  readonly denied?: boolean | undefined;
  readonly start_at?: Instant | undefined;
  readonly end_at?: Instant | undefined;
  /** Limits the search to entries older than this position. */
  readonly before?: LogPosition | undefined;
  /** Limits the search to entries newer than this position. */
  readonly after?: LogPosition | undefined;
  readonly size: number;
  /** The number of pages to pass over first. Default: 0. */
  readonly skip?: number | undefined;
}

/** A query of a tenant's log. */
export interface LogQuestion extends LogSelection {
  readonly tenant_id: string;
}

export interface FoundLog<Entry = LogEntry> {
  /** The entries that match the query, newest first. */
  readonly entries: readonly Entry[];
  /** The position before which older entries may exist; absent at the end. */
  readonly next?: LogPosition;
  /** The time of the last examined row, if the search stopped before the page was full. */
  readonly searched_to?: Instant;
}

/**
 * Resolves to the entries that match a query, newest first. A query by entity or actor opens the rows that the log
 * index lists, and the rows that the index does not cover yet. Any other query opens row after row and stops after
 * `MAX_OPENED` events. With `skip`, resolves to the page that as many cursors lead to, or to no entries past the end.
 * Rejects with `integrity_failure` for a damaged row, and with `invalid_request` when the pages before the wanted one
 * are too much to open in one call. Awaits `pause` before each row.
 */
export async function searchLog(
  parts: LogIndexParts,
  question: LogQuestion,
  pause: () => Promise<void> | undefined = nextSlice,
): Promise<FoundLog> {
  const { size, start_at = 0, tenant_id } = question;
  let found: LogEntry[] = [];
  let next: LogPosition | undefined;
  let opened = 0;
  let openedBefore = 0;
  let { skip = 0 } = question;
  let last: AuditEntry | undefined;
  for await (const row of rowsOf(parts, question)) {
    // An event of a batch names up to a thousand entities, so a fixed number of events may take long.
    await pause();
    if (row.at < start_at - SLACK_MS) break;
    if (last !== undefined && opened + MAX_EVENTS_OF_ROW > MAX_OPENED) {
      if (!passOver()) return { entries: found, next: [last.sequence, 0, 0], searched_to: last.at };
    }
    if (openedBefore > MAX_OPENED_FOR_PAGE) throw invalid('page', 'lies too far back in this search; use start');
    const positioned = openOrFail(parts, row);
    for (const entry of positioned
      .toReversed()
      .flatMap((one) => wantedOf(one, question, (each) => logEntriesOf(each, { tenant_id })))) {
      if (found.length === size && !passOver()) return { entries: found, ...(next && { next }) };
      found.push(entry);
      next = parseLogId(entry.id);
    }
    last = row;
    opened += positioned.length;
  }
  return { entries: skip > 0 ? [] : found };

  /** Drops a page that is full, or for which no more is opened. Returns false if it is the wanted one. */
  function passOver(): boolean {
    if (skip === 0) return false;
    skip -= 1;
    found = [];
    openedBefore += opened;
    opened = 0;
    return true;
  }
}

function openOrFail({ keyring }: LogIndexParts, row: AuditEntry): readonly PositionedEvent[] {
  try {
    return openRow(keyring, row);
  } catch (error) {
    throw problemOf(error);
  }
}

/** Returns the entries of an event that match the query, newest first. `entriesOf` returns its entries in order. */
export function wantedOf<Entry extends VaultLogEntry>(
  positioned: PositionedEvent,
  { entity_type, entity_id, actor_id, operation, denied, start_at, end_at, before, after }: LogSelection,
  entriesOf: (positioned: PositionedEvent) => readonly Entry[],
): readonly Entry[] {
  const { at, event } = positioned;
  if (operation !== undefined && event.action !== operation) return [];
  if (actor_id !== undefined && event.application_id !== actor_id) return [];
  if (denied !== undefined && isDenied(event.status) !== denied) return [];
  if ((start_at !== undefined && at < start_at) || (end_at !== undefined && at >= end_at)) return [];
  return entriesOf(positioned)
    .filter(
      (entry) =>
        (entity_type === undefined || entry.entity_type === entity_type) &&
        (entity_id === undefined || entry.entity_id === entity_id) &&
        (after === undefined || comparePositions(parseLogId(entry.id), after) > 0) &&
        (before === undefined || comparePositions(parseLogId(entry.id), before) < 0),
    )
    .toReversed();
}

/** Yields the rows that may contain matching entries, newest first. */
async function* rowsOf(parts: LogIndexParts, question: LogQuestion): AsyncGenerator<AuditEntry> {
  const { store } = parts;
  const { before, after, end_at } = question;
  const { sequence: head } = await store.auditHead();
  const floor = after?.[0] ?? 1;
  let last = head;
  if (before !== undefined) last = Math.min(last, before[1] === 0 ? before[0] - 1 : before[0]);
  let at = 1 + (end_at === undefined ? last : await lastBefore(parts, end_at + SLACK_MS, last));
  const blinds = blindsOf(parts, question);
  const covered = blinds === undefined ? 0 : await coveredUpTo(parts, head);
  const tail = Math.max(floor, covered + 1);
  yield* rowsBackwards(store, at - 1, tail, PAGE);
  at = Math.min(at, tail);
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

/**
 * Resolves to the last row that the log index covers. If many rows up to `head` are missing, first indexes as many as
 * one call may.
 */
async function coveredUpTo(parts: LogIndexParts, head: number): Promise<number> {
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

/** Resolves to the last row up to `head` that was written before `time`, or to a row at most PAGE rows later. */
async function lastBefore({ store }: LogIndexParts, time: Instant, head: number): Promise<number> {
  let [low, high] = [0, head];
  while (high - low > PAGE) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await store.readAudit(middle - 1, 1);
    if (row !== undefined && row.at < time) low = middle;
    else high = middle;
  }
  return high;
}

function blindsOf({ keyring }: LogIndexParts, { tenant_id, entity_id, actor_id }: LogQuestion) {
  if (entity_id !== undefined) return [keyring.auditSubject({ kind: 'entity', tenant_id, id: entity_id })];
  return actor_id === undefined ? undefined : [keyring.auditSubject({ kind: 'actor', tenant_id, id: actor_id })];
}
