import { nextTurn } from '../own-turn.ts';
import type { Instant } from '../ports.ts';
import { invalid, Problem } from '../problem.ts';
import { isDenied } from './audit-level.ts';
import { ROOT_CHAIN } from './audit-link.ts';
import { type LogEntry, logEntriesOf } from './log-entries.ts';
import { indexLog, type LogParts } from './log-index.ts';
import { comparePlaces, type LogPlace, parseLogId } from './log-place.ts';
import { compareKeys, mergeChains } from './merge-chains.ts';
import type { AuditEntry, AuditHead } from './ports.ts';
import { openRow, type PlacedEvent, problemOf, rowsBackwards } from './walk-audit.ts';

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
const SLACK_MS = 60 * 60 * 1000;
/**
 * The delay of nearly all rows, in milliseconds. The order of a chain rarely differs from the order of times by more.
 */
const MERGE_SLACK_MS = 1000;

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
  /** Limits the search to entries older than this place. */
  readonly before?: LogPlace | undefined;
  /** Limits the search to entries newer than this place. */
  readonly after?: LogPlace | undefined;
  readonly size: number;
  /** The number of pages to pass over first. Default: 0. */
  readonly skip?: number | undefined;
}

export interface FoundLog {
  /** The entries that match the query, newest first. */
  readonly entries: readonly LogEntry[];
  /** The place before which older entries may exist; absent at the end. */
  readonly next?: LogPlace;
  /** The time of the last examined row, if the search stopped before the page was full. */
  readonly searched_to?: Instant;
}

/**
 * Resolves to the entries that match a query, newest first. A query by entity or actor opens the rows that the log
 * index lists, and the rows that the index does not cover yet. Any other query opens row after row and stops after
 * `MAX_OPENED` events. With `skip`, resolves to the page that as many cursors lead to, or to no entries past the end.
 * Rejects with `integrity_failure` for a damaged row, and with `invalid_request` when the pages before the wanted one
 * are too much to open in one call.
 */
export async function searchLog(parts: LogParts, question: LogQuestion): Promise<FoundLog> {
  const { before, after, size, start_at = 0 } = question;
  let found: LogEntry[] = [];
  let next: LogPlace | undefined;
  let opened = 0;
  let openedBefore = 0;
  let { skip = 0 } = question;
  let last: AuditEntry | undefined;
  const heads = await parts.store.auditHeads();
  const isOnly = heads.length === 1;
  const timed = (place: LogPlace | undefined) =>
    isOnly && place?.chain === ROOT_CHAIN ? place : withTime(parts, place);
  const bounds = { ...question, before: await timed(before), after: await timed(after) };
  const oldest = bounds.after?.reached ?? 0;
  let reached = bounds.before?.reached ?? Number.MAX_SAFE_INTEGER;
  const placeOf = (chain: string, place: LogPlace['place']) => ({ chain, place, ...(!isOnly && { reached }) });
  const merge = mergeChains<AuditEntry>(-1);
  for (const head of heads) {
    // A row may be a little later than the last row of its chain.
    const latest = head.at + MERGE_SLACK_MS;
    if (isOnly || latest >= oldest || head.chain === after?.chain) {
      merge.add(head.chain, latest, chainBackwards(parts, bounds, head));
    }
  }
  for (let row = await merge.next(); row !== undefined; row = await merge.next()) {
    // An event of a batch names up to a thousand entities, so a fixed number of events may take long.
    await nextTurn();
    if (row.at < start_at - SLACK_MS) break;
    if (last !== undefined && opened + MAX_EVENTS_OF_ROW > MAX_OPENED) {
      if (!passOver())
        return { entries: found, next: placeOf(last.chain, [last.sequence, 0, 0]), searched_to: last.at };
    }
    if (openedBefore > MAX_OPENED_FOR_PAGE) throw invalid('page', 'lies too far back in this search; use start');
    const { chain } = row;
    const placed = openOrFail(parts, row);
    const rowReached = Math.min(reached, row.at);
    for (const entry of placed.toReversed().flatMap((one) => wantedOf(one, question).toReversed())) {
      const own = parseLogId(entry.id);
      if (after?.chain === chain && comparePlaces(own, after) <= 0) continue;
      if (before?.chain === chain && comparePlaces(own, before) >= 0) continue;
      if (found.length === size && !passOver()) return { entries: found, ...(next && { next }) };
      found.push(entry);
      reached = rowReached;
      next = placeOf(chain, own.place);
    }
    reached = rowReached;
    last = row;
    opened += placed.length;
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

/**
 * Adds the time of the row to a place without a time, for the comparison with other chains. A removed row gets the time
 * 0, because it is older than all rows that are left.
 */
async function withTime({ store }: LogParts, of: LogPlace | undefined): Promise<LogPlace | undefined> {
  if (of === undefined || of.reached !== undefined) return of;
  const [sequence] = of.place;
  if (sequence === 0) return { ...of, reached: 0 };
  const [row] = await store.readAudit(of.chain, sequence - 1, 1);
  // A file has only the root, and returns its rows for every chain.
  return { ...of, reached: row?.chain === of.chain && row.sequence === sequence ? row.at : 0 };
}

function openOrFail({ keyring }: LogParts, row: AuditEntry): readonly PlacedEvent[] {
  try {
    return openRow(keyring, row);
  } catch (error) {
    throw problemOf(error);
  }
}

/** Returns the entries of an event that match the query. Ignores `before` and `after`. */
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

/**
 * Yields the rows of a chain that may contain matching entries, newest first. A merge of the chains decides which rows
 * lie between `after` and `before` when these are places in another chain.
 */
async function* chainBackwards(parts: LogParts, question: LogQuestion, head: AuditHead): AsyncGenerator<AuditEntry> {
  const { chain } = head;
  const { before, after } = question;
  const keyOf = ({ chain, reached = Number.MAX_SAFE_INTEGER }: LogPlace) => ({ chain, at: reached });
  let isBehind = before === undefined || before.chain === chain;
  for await (const row of rowsOfChain(parts, question, head)) {
    isBehind ||= before !== undefined && compareKeys(row, keyOf(before)) < 0;
    if (after !== undefined && after.chain !== chain && compareKeys(row, keyOf(after)) < 0) return;
    if (isBehind) yield row;
  }
}

async function* rowsOfChain(parts: LogParts, question: LogQuestion, head: AuditHead): AsyncGenerator<AuditEntry> {
  const { store } = parts;
  const { chain } = head;
  const { before, after, end_at } = question;
  const floor = after?.chain === chain ? after.place[0] : 1;
  let last = head.sequence;
  if (before?.chain === chain) last = Math.min(last, before.place[1] === 0 ? before.place[0] - 1 : before.place[0]);
  else if (before?.reached !== undefined) last = await lastBefore(parts, chain, before.reached + MERGE_SLACK_MS, last);
  let at = 1 + (end_at === undefined ? last : await lastBefore(parts, chain, end_at + SLACK_MS, last));
  const blinds = blindsOf(parts, question);
  const covered = blinds === undefined ? 0 : await coveredUpTo(parts, head);
  const tail = Math.max(floor, covered + 1);
  yield* rowsBackwards(store, chain, at - 1, tail, PAGE);
  at = Math.min(at, tail);
  while (blinds !== undefined && at > floor) {
    const named = await store.findLogged(chain, blinds, at, PAGE);
    for (const sequence of named) {
      if (sequence < floor) return;
      yield* await store.readAudit(chain, sequence - 1, 1);
    }
    if (named.length < PAGE) return;
    at = named.at(-1) ?? 0;
  }
}

/**
 * Resolves to the last row of a chain that the log index covers. If many rows are missing, first indexes as many as one
 * call may.
 */
async function coveredUpTo(parts: LogParts, { chain, sequence: head }: AuditHead): Promise<number> {
  const covered = await parts.store.logIndexEnd(chain);
  if (head - covered <= MAX_TAIL) return covered;
  try {
    await indexLog(parts, chain, MAX_OPENED);
  } catch (error) {
    // A vault that accepts no writes still answers.
    if (!(error instanceof Problem)) throw error;
  }
  return parts.store.logIndexEnd(chain);
}

/**
 * Resolves to the last row of a chain up to `head` that was written before `time`, or to a row at most PAGE rows later.
 */
async function lastBefore({ store }: LogParts, chain: string, time: Instant, head: number): Promise<number> {
  let [low, high] = [0, head];
  while (high - low > PAGE) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await store.readAudit(chain, middle - 1, 1);
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
