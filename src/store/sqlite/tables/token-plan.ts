import { MAX_TOTAL } from '../../../contract/page.ts';
import type { Instant } from '../../../core/ports.ts';
import type { Walk } from '../../../core/scan-ports.ts';
import { type Fragment, list, raw, sql } from '../../rows/fragment.ts';
import { FEW, fewOf, isEverything, type TokenQuery, weightOf, without } from '../../rows/token-query.ts';
import { isBehind, type WalkOrder, walkOrder } from '../../rows/walk-order.ts';
import { isLive } from '../../rows/where.ts';
import { type PlannedQuery, queryInSet } from './plan-query.ts';
import {
  type IndexCondition,
  type PlannedCondition,
  selectEntries,
  whereCondition,
  whereQuery,
} from './token-conditions.ts';

/** The maximum number of tests in a statement of several starts. A test has at most two parameters. */
const MAX_TESTS = 15_000;

/**
 * The statements of a list. A statement is absent if it would read more than a few thousand tokens; the list is then
 * read in slices.
 */
export interface TokenPlan {
  /** Selects the numbers of the matching tokens, in order. The caller adds LIMIT and OFFSET. */
  readonly list?: Fragment | undefined;
  readonly total?: Fragment | undefined;
}

/** The rows that a search examines. `rest` holds the conditions that remain to be tested on each row. */
interface Start {
  /** The tables, and the conditions that choose the rows. */
  readonly from: Fragment;
  /** The column that orders the rows, newest first. */
  readonly created: 'i.created_at' | 't.created_at';
  readonly rest: TokenQuery;
}

/** The chosen starts of a query, and their cost. */
interface Choice {
  /** Usually one start. Several starts have no tokens in common. */
  readonly starts: readonly Start[];
  /** Returns whether the search reads few tokens, whatever the page number. */
  readonly isFew: () => boolean;
  /** Whether rows are read in the order of the list. */
  readonly isOrdered: boolean;
}

/**
 * Chooses how to find the tokens of one tenant. Only this function adds the tenant to a statement.
 *
 * - No condition, or types only: the total comes from the counters; the list walks the newest tokens of each set.
 * - Otherwise the search starts from the most selective condition on ids and blind indexes. A start from one blind
 *   index walks its entries, newest first, so the cost depends only on the page size. Several blind indexes have no
 *   common order; if they match many tokens, the list walks the newest tokens.
 *
 * `end` is the position of the page's last token.
 */
export function planTokens(query: PlannedQuery, now: Instant, end: number, count: Count): TokenPlan {
  const { starts, isFew, isOrdered } = choose(query, count);
  const isNear = isOrdered && end <= FEW && starts.every(({ rest }) => isEverything(rest));
  const total = totalFromCounters(query, now) ?? totalFromIndex(query, now);
  // Count only if the answer depends on it.
  const isCheap = (isNear && total !== undefined) || isFew();
  return {
    list: isNear || isCheap ? listOf(starts, now) : undefined,
    total: total ?? (isCheap ? totalOf(starts, now) : undefined),
  };
}

/**
 * Plans a slice of a list. The statement returns the tokens that follow `after` in the order of the list, with four
 * columns: number, time of creation, id, and whether the query matches. The caller adds LIMIT.
 */
export function planWalk(query: PlannedQuery, walk: Walked, now: Instant, count: Count): Fragment {
  return walkOf(choose(query, count).starts, walk, now);
}

/** Plans a walk over all tokens of the tenant, whatever the query. */
export function planScan(query: PlannedQuery, walk: Walked, now: Instant): Fragment {
  return walkOf(startsFromNewest(query), walk, now);
}

type Walked = Pick<Walk, 'after' | 'order'>;
type Count = (fragment: Fragment) => number;

function choose(query: PlannedQuery, count: Count): Choice {
  const chosen = mostSelective(query, count);
  if (chosen !== undefined) {
    const [condition, expected] = chosen;
    const rest = without(query, condition);
    const isFew = expected < fewOf(rest);
    if (isOrdered(condition)) {
      const byIndex = condition.index_in.flatMap((blind) =>
        query.sets(blind).map((set) => startFromIndex(query.tenant, blind, set, rest)),
      );
      const bySet = (condition.set_in ?? []).map((set) => startFromSet(query.tenant, set, rest));
      const starts = [...byIndex, ...bySet];
      if (isShort(starts)) return { starts, isFew: () => isFew, isOrdered: true };
    }
    if (isFew) return { starts: [startFrom(query, condition)], isFew: () => true, isOrdered: false };
  }
  const few = fewOf(query);
  const isFew = () => count(countAll(query, few)) < few;
  return { starts: startsFromNewest(query), isFew, isOrdered: true };
}

/** Returns whether a statement of these starts has few enough parameters. SQLite accepts 32,766. */
function isShort(starts: readonly Start[]): boolean {
  return starts.reduce((tests, { rest }) => tests + weightOf(rest), 0) <= MAX_TESTS;
}

/** Returns whether walks of the condition's blind indexes and sets, newest first, find each token once. */
function isOrdered(condition: PlannedCondition): condition is IndexCondition {
  return 'isDisjoint' in condition;
}

/** Returns the condition with the fewest expected tokens, and their number (at most FEW). */
function mostSelective(query: PlannedQuery, count: Count): readonly [PlannedCondition, number] | undefined {
  const only = onlyOrdered(query);
  // With a single condition there is no choice, and no other test remains.
  if (only !== undefined) return [only, FEW];
  let best: readonly [PlannedCondition, number] | undefined;
  for (const condition of query.all) {
    // With more conditions the limit is lower: counting up to FEW for each would take longer than the list itself.
    const most = fewOf(without(query, condition));
    const entries = entriesOf(query, condition);
    const expected = 'id_in' in condition ? condition.id_in.length : entries && count(upTo(most, entries));
    if (expected !== undefined && (best === undefined || expected < best[1])) best = [condition, expected];
  }
  return best;
}

/** Returns the only condition of a query, if it is ordered. */
function onlyOrdered({ all: [only, ...others], anyOf }: TokenQuery): IndexCondition | undefined {
  return only !== undefined && others.length === 0 && anyOf === undefined && isOrdered(only) ? only : undefined;
}

/** Returns the rows that an index finds for a condition, each token at least once; undefined without an index. */
function entriesOf(query: PlannedQuery, condition: PlannedCondition): Fragment | undefined {
  if ('index_in' in condition) return selectEntries(query, condition, '1');
  if (!('id_prefix' in condition)) return undefined;
  return sql`SELECT 1 FROM ${tokensBy('INDEXED BY token_id', query.tenant, whereCondition(condition))}`;
}

function upTo(most: number, rows: Fragment): Fragment {
  return sql`SELECT count(*) FROM (${rows} LIMIT +${most})`;
}

/** Returns the rows `t` of `token` that meet the condition, found by an index. */
function tokensBy(index: string, tenant: number, where: Fragment): Fragment {
  return sql`token t ${raw(index)} WHERE t.tenant = +${tenant} AND ${where}`;
}

/** Returns the start from a condition that is not ordered. */
function startFrom(query: PlannedQuery, condition: PlannedCondition): Start {
  const rest = without(query, condition);
  const from =
    'index_in' in condition
      ? tokensBy('NOT INDEXED', query.tenant, sql`t.token IN (${selectEntries(query, condition, 'token')})`)
      : tokensBy('INDEXED BY token_id', query.tenant, whereCondition(condition));
  return { from, created: 't.created_at', rest };
}

function startFromIndex(tenant: number, blind: Uint8Array, set: number, rest: TokenQuery): Start {
  const from = sql`token_index i
    CROSS JOIN token t ON t.token = i.token AND t.tenant = i.tenant AND t.set_number = i.set_number
    WHERE i.tenant = +${tenant} AND i.blind = +${blind} AND i.set_number = +${set}`;
  return { from, created: 'i.created_at', rest: queryInSet(rest, set) };
}

function startFromSet(tenant: number, set: number, rest: TokenQuery): Start {
  const from = tokensBy('INDEXED BY token_newest', tenant, sql`t.set_number = +${set}`);
  return { from, created: 't.created_at', rest: queryInSet(rest, set) };
}

function startsFromNewest(query: PlannedQuery): readonly Start[] {
  return query.sets().map((set) => startFromSet(query.tenant, set, query));
}

/** Counts all tokens in visible sets, at least up to `most`. */
function countAll(query: PlannedQuery, most: number): Fragment {
  return query.visible === undefined
    ? sql`SELECT ifnull(sum(count), 0) FROM counter WHERE tenant = +${query.tenant} AND type > 0`
    : upTo(most, selectEntries(query, { index_in: [], set_in: query.visible }, '1'));
}

function listOf(starts: readonly Start[], now: Instant): Fragment {
  return inOrder(
    starts,
    walkOrder(),
    (start) => sql`SELECT t.token, ${raw(start.created)}, t.id ${bodyOf(start, now)}`,
  );
}

function totalOf(starts: readonly Start[], now: Instant): Fragment {
  const counts = starts.map((start) => sql`(SELECT count(*) ${bodyOf(start, now)})`);
  return sql`SELECT ${list(counts, ' + ')}`;
}

function walkOf(starts: readonly Start[], { after, order }: Walked, now: Instant): Fragment {
  const directions = walkOrder(order);
  return inOrder(starts, directions, ({ created, from, rest }) => {
    const time = raw(created);
    const behind = isBehind(directions, time, after && { ...after, created_at: sql`+${after.created_at}` });
    return sql`SELECT t.token, ${time}, t.id, (${whereQuery(rest)} AND ${isLive(now)}) FROM ${from} AND ${behind}`;
  });
}

/** Merges walks into one statement. The time of creation is their second column, the id the third. */
function inOrder(starts: readonly Start[], { created, id }: WalkOrder, walk: (start: Start) => Fragment): Fragment {
  const [only] = starts;
  const walks = list(starts.map(walk), ' UNION ALL ');
  return only !== undefined && starts.length === 1
    ? sql`${walks} ORDER BY ${raw(only.created)} ${created}, t.id ${id}`
    : sql`${walks} ORDER BY 2 ${created}, 3 ${id}`;
}

function bodyOf({ from, rest }: Start, now: Instant): Fragment {
  return sql`FROM ${from} AND ${whereQuery(rest)} AND ${isLive(now)}`;
}

/**
 * Returns a statement that computes the total from the counters, without expired tokens. Returns undefined if the query
 * has conditions other than types.
 */
function totalFromCounters(query: PlannedQuery, now: Instant): Fragment | undefined {
  if (query.anyOf !== undefined || query.all.some((condition) => !('type_in' in condition))) return undefined;
  const types = whereQuery(query);
  const all = sql`SELECT ifnull(sum(t.count), 0) FROM counter t WHERE t.tenant = +${query.tenant} AND t.type > 0 AND ${types}`;
  return lessExpired(all, query.tenant, types, now);
}

/**
 * Returns a statement that computes the total of a single blind index from its entries, up to the cap, without reading
 * tokens. Returns undefined for other queries.
 */
function totalFromIndex(query: PlannedQuery, now: Instant): Fragment | undefined {
  const only = onlyOrdered(query);
  if (only === undefined) return undefined;
  const { tenant } = query;
  const all = sql`SELECT count(*) FROM (${selectEntries(query, only, '1')} LIMIT ${raw(`${MAX_TOTAL}`)} + 1
    + (SELECT count(*) FROM token INDEXED BY token_expiry WHERE expires_at <= ${now} AND tenant = +${tenant}))`;
  return lessExpired(all, tenant, whereCondition(only), now);
}

function lessExpired(all: Fragment, tenant: number, where: Fragment, now: Instant): Fragment {
  return sql`SELECT (${all}) - (SELECT count(*) FROM token t INDEXED BY token_expiry
    WHERE t.expires_at <= ${now} AND t.tenant = +${tenant} AND ${where})`;
}
