import { MAX_TOTAL } from '../../../contract/page.ts';
import type { Instant } from '../../../core/ports.ts';
import type { ScanPosition } from '../../../core/scan-ports.ts';
import { FEW, fewOf, isEverything, type TokenQuery, weightOf, without } from '../../rows/token-query.ts';
import { type PlannedQuery, queryInSet } from './plan-query.ts';
import {
  type Fragment,
  type IndexCondition,
  join,
  type PlannedCondition,
  selectEntries,
  type Value,
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
  /** Counts the matching tokens. */
  readonly total?: Fragment | undefined;
}

/** The rows that a search examines. `rest` holds the conditions that remain to be tested on each row. */
interface Start {
  readonly from: string;
  readonly where: Fragment;
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
 * `reach` is the position of the page's last token.
 */
export function planTokens(tenant: number, query: PlannedQuery, now: Instant, reach: number, count: Count): TokenPlan {
  const { starts, isFew, isOrdered } = choose(tenant, query, count);
  const isNear = isOrdered && reach <= FEW && starts.every(({ rest }) => isEverything(rest));
  const total = totalFromCounters(tenant, query, now) ?? totalFromIndex(tenant, query, now);
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
export function planWalk(
  tenant: number,
  query: PlannedQuery,
  after: ScanPosition | undefined,
  now: Instant,
  count: Count,
): Fragment {
  return walkOf(choose(tenant, query, count).starts, after, now);
}

/** Plans a walk over all tokens of the tenant, whatever the query. */
export function planScan(tenant: number, query: PlannedQuery, after: ScanPosition | undefined, now: Instant): Fragment {
  return walkOf(startsFromNewest(tenant, query), after, now);
}

type Count = (fragment: Fragment) => number;

function choose(tenant: number, query: PlannedQuery, count: Count): Choice {
  const chosen = mostSelective(tenant, query, count);
  if (chosen !== undefined) {
    const [condition, expected] = chosen;
    const rest = without(query, condition);
    const isFew = expected < fewOf(rest);
    if (isOrdered(condition)) {
      const byIndex = condition.index_in.flatMap((blind) =>
        query.sets(blind).map((set) => startFromIndex(tenant, blind, set, rest)),
      );
      const bySet = (condition.set_in ?? []).map((set) => startFromSet(tenant, set, rest));
      const starts = [...byIndex, ...bySet];
      if (isShort(starts)) return { starts, isFew: () => isFew, isOrdered: true };
    }
    if (isFew) return { starts: [startFrom(tenant, query, condition)], isFew: () => true, isOrdered: false };
  }
  const few = fewOf(query);
  const isFew = () => count(countAll(tenant, query, few)) < few;
  return { starts: startsFromNewest(tenant, query), isFew, isOrdered: true };
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
function mostSelective(
  tenant: number,
  query: PlannedQuery,
  count: Count,
): readonly [PlannedCondition, number] | undefined {
  const [only] = query.all;
  // With a single condition there is no choice, and no other test remains.
  if (only !== undefined && query.all.length === 1 && query.anyOf === undefined && isOrdered(only)) return [only, FEW];
  let best: readonly [PlannedCondition, number] | undefined;
  for (const condition of query.all) {
    // With more conditions the limit is lower: counting up to FEW for each would take longer than the list itself.
    const most = fewOf(without(query, condition));
    const expected = expectation(tenant, query, condition, most, count);
    if (expected !== undefined && (best === undefined || expected < best[1])) best = [condition, expected];
  }
  return best;
}

function expectation(
  tenant: number,
  { visible }: PlannedQuery,
  condition: PlannedCondition,
  most: number,
  count: Count,
): number | undefined {
  if ('id_in' in condition) return condition.id_in.length;
  if (!('id_prefix' in condition || 'index_in' in condition)) return undefined;
  const where = withTenant(tenant, whereCondition(condition));
  const all =
    'id_prefix' in condition
      ? { sql: `SELECT 1 FROM token t INDEXED BY token_id WHERE ${where.sql}`, params: where.params }
      : selectEntries(tenant, condition, visible, '1');
  return count(upTo(most, all));
}

function upTo(most: number, { sql, params }: Fragment): Fragment {
  return { sql: `SELECT count(*) FROM (${sql} LIMIT +?)`, params: [...params, most] };
}

/** Returns the start from a condition that is not ordered. */
function startFrom(tenant: number, query: PlannedQuery, condition: PlannedCondition): Start {
  const rest = without(query, condition);
  if (!('index_in' in condition)) {
    const where = withTenant(tenant, whereCondition(condition));
    return { from: 'token t INDEXED BY token_id', where, created: 't.created_at', rest };
  }
  const { sql, params } = selectEntries(tenant, condition, query.visible, 'token');
  const where = withTenant(tenant, { sql: `t.token IN (${sql})`, params });
  return { from: 'token t NOT INDEXED', where, created: 't.created_at', rest };
}

function startFromIndex(tenant: number, blind: Uint8Array, set: number, rest: TokenQuery): Start {
  const from = `token_index i
    CROSS JOIN token t ON t.token = i.token AND t.tenant = i.tenant AND t.set_number = i.set_number`;
  const where = { sql: 'i.tenant = +? AND i.blind = +? AND i.set_number = +?', params: [tenant, blind, set] };
  return { from, where, created: 'i.created_at', rest: queryInSet(rest, set) };
}

function startFromSet(tenant: number, set: number, rest: TokenQuery): Start {
  const where = withTenant(tenant, { sql: 't.set_number = +?', params: [set] });
  return { from: 'token t INDEXED BY token_newest', where, created: 't.created_at', rest: queryInSet(rest, set) };
}

/** Returns the starts for all tokens of the tenant. */
function startsFromNewest(tenant: number, query: PlannedQuery): readonly Start[] {
  return query.sets().map((set) => startFromSet(tenant, set, query));
}

function withTenant(tenant: number, where: Fragment): Fragment {
  return { sql: `t.tenant = +? AND ${where.sql}`, params: [tenant, ...where.params] };
}

/** Counts all tokens in visible sets, at least up to `most`. */
function countAll(tenant: number, { visible }: PlannedQuery, most: number): Fragment {
  if (visible !== undefined) return upTo(most, selectEntries(tenant, { index_in: [], set_in: visible }, visible, '1'));
  return { sql: 'SELECT ifnull(sum(count), 0) FROM counter WHERE tenant = +? AND type > 0', params: [tenant] };
}

function listOf(starts: readonly Start[], now: Instant): Fragment {
  return inOrder(
    starts.map((start) => {
      const body = bodyOf(start, now);
      return { start, sql: `SELECT t.token, ${start.created}, t.id ${body.sql}`, params: body.params };
    }),
  );
}

function totalOf(starts: readonly Start[], now: Instant): Fragment {
  const bodies = starts.map((start) => bodyOf(start, now));
  return {
    sql: `SELECT ${bodies.map(({ sql }) => `(SELECT count(*) ${sql})`).join(' + ')}`,
    params: bodies.flatMap(({ params }) => params),
  };
}

function walkOf(starts: readonly Start[], after: ScanPosition | undefined, now: Instant): Fragment {
  return inOrder(
    starts.map((start) => {
      const { created, from, where } = start;
      const rest = whereQuery(start.rest);
      const behind: Fragment =
        after === undefined
          ? { sql: 'TRUE', params: [] }
          : {
              sql: `${created} <= +? AND (${created} < +? OR t.id > ?)`,
              params: [after.created_at, after.created_at, after.id],
            };
      return {
        start,
        sql: `SELECT t.token, ${created}, t.id, (${rest.sql} AND (t.expires_at IS NULL OR t.expires_at > ?))
          FROM ${from} WHERE ${where.sql} AND ${behind.sql}`,
        params: [...rest.params, now, ...where.params, ...behind.params],
      };
    }),
  );
}

/** Merges walks into one statement, newest first. The time of creation is their second column, the id the third. */
function inOrder(walks: readonly (Fragment & { readonly start: Start })[]): Fragment {
  const [only, ...others] = walks;
  if (only !== undefined && others.length === 0) {
    return { sql: `${only.sql} ORDER BY ${only.start.created} DESC, t.id`, params: only.params };
  }
  return {
    sql: `${walks.map(({ sql }) => sql).join(' UNION ALL ')} ORDER BY 2 DESC, 3`,
    params: walks.flatMap(({ params }) => params),
  };
}

function bodyOf(start: Start, now: Instant): Fragment {
  const rest = whereQuery(start.rest);
  return {
    sql: `FROM ${start.from} WHERE ${start.where.sql} AND ${rest.sql} AND (t.expires_at IS NULL OR t.expires_at > ?)`,
    params: [...start.where.params, ...rest.params, now],
  };
}

/**
 * Returns a statement that computes the total from the counters, without expired tokens. Returns undefined if the query
 * has conditions other than types.
 */
function totalFromCounters(tenant: number, query: TokenQuery, now: Instant): Fragment | undefined {
  if (query.anyOf !== undefined || query.all.some((condition) => !('type_in' in condition))) return undefined;
  const types = join(query.all.map(whereCondition), ' AND ');
  return lessExpired(
    {
      sql: `SELECT ifnull(sum(t.count), 0) FROM counter t WHERE t.tenant = +? AND t.type > 0 AND ${types.sql}`,
      params: [tenant, ...types.params],
    },
    tenant,
    types,
    now,
  );
}

/**
 * Returns a statement that computes the total of a single blind index from its entries, up to the cap, without reading
 * tokens. Returns undefined for other queries.
 */
function totalFromIndex(tenant: number, query: PlannedQuery, now: Instant): Fragment | undefined {
  const [only] = query.all;
  if (query.anyOf !== undefined || query.all.length !== 1 || only === undefined || !isOrdered(only)) return undefined;
  const { sql, params } = selectEntries(tenant, only, query.visible, '1');
  return lessExpired(
    {
      sql: `SELECT count(*) FROM (${sql}
        LIMIT ${MAX_TOTAL} + 1 + (SELECT count(*) FROM token INDEXED BY token_expiry WHERE expires_at <= ? AND tenant = +?))`,
      params: [...params, now, tenant],
    },
    tenant,
    whereCondition(only),
    now,
  );
}

function lessExpired(all: Fragment, tenant: number, where: Fragment, now: Instant): Fragment {
  const params: readonly Value[] = [...all.params, now, tenant, ...where.params];
  return {
    sql: `SELECT (${all.sql}) - (SELECT count(*) FROM token t INDEXED BY token_expiry
      WHERE t.expires_at <= ? AND t.tenant = +? AND ${where.sql})`,
    params,
  };
}
