import type { Instant, PageOf, PageRequest, PresentedToken, TokenFilter } from '../../../core/ports.ts';
import type { Connection } from '../file/driver.ts';
import type { ContainerSets } from './container-sets.ts';
import type { PresentedTokenRows } from './presented-token-rows.ts';
import type { TenantRows } from './tenant-rows.ts';
import {
  type Fragment,
  join,
  type PlannedCondition,
  type TokenQuery,
  toQuery,
  type Value,
  whereCondition,
  whereIn,
  whereQuery,
  withSets,
} from './token-conditions.ts';

/** The two statements of a list: the numbers of all tokens of the query in order, and how many there are. */
export interface TokenPlan {
  /** Ends with the order; LIMIT and OFFSET are still to be added. */
  readonly list: Fragment;
  readonly total: Fragment;
}

/** Where the search starts. `rest` is what remains to be tested of each row. */
interface Start {
  readonly from: string;
  readonly where: Fragment;
  readonly order: string;
  readonly rest: TokenQuery;
}

/** What is expected to match at most this many tokens is searched first and then sorted; more are walked newest first. */
const FEW = 5000;

const NEWEST_FIRST = 't.created_at DESC, t.id';

/**
 * Chooses how to find the tokens of one tenant. Every statement gets the tenant here, and nowhere else.
 *
 * - No condition, or types only: the total comes from the counters, the list walks the index of the newest.
 * - Otherwise the search starts from the most selective of the conditions on ids and blind indexes. A start from one blind
 *   index walks its entries, newest first, so a page costs what it shows; several blind indexes together have no common
 *   order, so when they match many tokens the list walks the newest and only the total starts from them.
 */
export function planTokens(
  tenant: number,
  query: TokenQuery,
  now: Instant,
  count: (fragment: Fragment) => number,
): TokenPlan {
  const start = chooseStart(tenant, query, count);
  const newest = startFromNewest(tenant, query);
  if (start === undefined) {
    const total = totalFromCounters(tenant, query, now) ?? totalOf(newest, now);
    return { list: listOf(newest, now), total };
  }
  const [condition, expected] = start;
  const chosen = startFrom(tenant, query, condition);
  const total = totalFromIndex(tenant, query, now) ?? totalOf(chosen, now);
  if (isOrdered(condition)) return { list: mergedList(tenant, query, condition, now), total };
  return { list: listOf(expected < FEW ? chosen : newest, now), total };
}

interface OrderedCondition {
  readonly index_in: readonly Uint8Array[];
}

/** Whether starts from its blind indexes, each of which walks tokens newest first, have no token in common. */
function isOrdered(condition: PlannedCondition): condition is OrderedCondition {
  return 'index_in' in condition && (condition.index_in.length === 1 || 'isDisjoint' in condition);
}

/** Merges the walks of the blind indexes. */
function mergedList(tenant: number, query: TokenQuery, condition: OrderedCondition, now: Instant): Fragment {
  const walks = condition.index_in.map((blind) => {
    const { sql, params } = bodyOf(startFrom(tenant, query, condition, [blind]), now);
    return { sql: `SELECT t.token, i.created_at, t.id ${sql}`, params };
  });
  const [only, ...others] = walks;
  if (only !== undefined && others.length === 0)
    return { ...only, sql: `${only.sql} ORDER BY i.created_at DESC, t.id` };
  return {
    sql: `${walks.map(({ sql }) => sql).join(' UNION ALL ')} ORDER BY 2 DESC, 3`,
    params: walks.flatMap((walk) => walk.params),
  };
}

/** The condition that is expected to leave the fewest tokens, with that number (no larger than FEW). */
function chooseStart(
  tenant: number,
  query: TokenQuery,
  count: (fragment: Fragment) => number,
): readonly [PlannedCondition, number] | undefined {
  const [only, ...others] = query.all.filter((condition) => !('type_in' in condition));
  // There is nothing to choose, and an ordered start is taken whatever it matches.
  if (only !== undefined && others.length === 0 && isOrdered(only)) return [only, FEW];
  let best: readonly [PlannedCondition, number] | undefined;
  for (const condition of query.all) {
    const few = expectation(tenant, condition, count);
    if (few !== undefined && (best === undefined || few < best[1])) best = [condition, few];
  }
  return best;
}

function expectation(
  tenant: number,
  condition: PlannedCondition,
  count: (fragment: Fragment) => number,
): number | undefined {
  if ('type_in' in condition) return undefined;
  if ('id_in' in condition) return condition.id_in.length;
  const bounded = (from: string, where: Fragment) =>
    count({
      sql: `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE t.tenant = +? AND ${where.sql} LIMIT ${FEW})`,
      params: [tenant, ...where.params],
    });
  return 'id_prefix' in condition
    ? bounded('token t INDEXED BY token_id', whereCondition(condition))
    : bounded('token_index t', whereIn('t.blind', condition.index_in));
}

/** `walked` are those of the condition's blind indexes that the search starts from: all, unless walks are merged. */
function startFrom(
  tenant: number,
  query: TokenQuery,
  condition: PlannedCondition,
  walked = 'index_in' in condition ? condition.index_in : [],
): Start {
  const rest = { ...query, all: query.all.filter((other) => other !== condition) };
  if (!('index_in' in condition)) {
    const where = withTenant(tenant, whereCondition(condition));
    return { from: 'token t INDEXED BY token_id', where, order: NEWEST_FIRST, rest };
  }
  const blinds = whereIn('blind', walked);
  if (isOrdered(condition)) {
    const from = 'token_index i CROSS JOIN token t ON t.token = i.token AND t.tenant = i.tenant';
    const equal = walked.length === 1 ? 'blind = +?' : blinds.sql;
    const where = { sql: `i.tenant = +? AND i.${equal}`, params: [tenant, ...blinds.params] };
    return { from, where, order: 'i.created_at DESC, t.id', rest };
  }
  return {
    from: 'token t NOT INDEXED',
    where: withTenant(tenant, {
      sql: `t.token IN (SELECT token FROM token_index WHERE tenant = +? AND ${blinds.sql})`,
      params: [tenant, ...blinds.params],
    }),
    order: NEWEST_FIRST,
    rest,
  };
}

function startFromNewest(tenant: number, query: TokenQuery): Start {
  const where = { sql: 't.tenant = +?', params: [tenant] };
  return { from: 'token t INDEXED BY token_newest', where, order: NEWEST_FIRST, rest: query };
}

function withTenant(tenant: number, where: Fragment): Fragment {
  return { sql: `t.tenant = +? AND ${where.sql}`, params: [tenant, ...where.params] };
}

function listOf(start: Start, now: Instant): Fragment {
  const body = bodyOf(start, now);
  return { sql: `SELECT t.token ${body.sql} ORDER BY ${start.order}`, params: body.params };
}

function totalOf(start: Start, now: Instant): Fragment {
  const body = bodyOf(start, now);
  return { sql: `SELECT count(*) ${body.sql}`, params: body.params };
}

function bodyOf(start: Start, now: Instant): Fragment {
  const rest = whereQuery(start.rest);
  return {
    sql: `FROM ${start.from} WHERE ${start.where.sql} AND ${rest.sql} AND (t.expires_at IS NULL OR t.expires_at > ?)`,
    params: [...start.where.params, ...rest.params, now],
  };
}

/** What the counters say, less the expired ones that are still there. Undefined when they do not answer this query. */
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

/** When blind indexes are all that is asked for, their entries are counted and no token is looked at. */
function totalFromIndex(tenant: number, query: TokenQuery, now: Instant): Fragment | undefined {
  const [only] = query.all;
  if (query.anyOf !== undefined || query.all.length !== 1 || only === undefined || !('index_in' in only))
    return undefined;
  const blinds = whereIn('blind', only.index_in);
  const counted = isOrdered(only) ? '*' : 'DISTINCT token';
  return lessExpired(
    {
      sql: `SELECT count(${counted}) FROM token_index WHERE tenant = +? AND ${blinds.sql}`,
      params: [tenant, ...blinds.params],
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

/** How many different statements are kept prepared. */
const CACHED = 64;

const PAGE = 'LIMIT +? OFFSET +?';

/** Finds one page of tokens. Synchronous; to be called on one snapshot, so that page and total agree. */
export function findTokens(
  connection: Connection,
  tenants: TenantRows,
  sets: ContainerSets,
  tokens: PresentedTokenRows,
) {
  const cache = new Map<string, ReturnType<typeof prepare>>();

  function prepare(sql: string) {
    return connection.prepare<Value[], number>(sql).pluck();
  }

  function cached(sql: string) {
    const statement = cache.get(sql) ?? prepare(sql);
    cache.delete(sql);
    cache.set(sql, statement);
    if (cache.size > CACHED) for (const oldest of [...cache.keys()].slice(0, cache.size - CACHED)) cache.delete(oldest);
    return statement;
  }

  const count = (fragment: Fragment) => cached(fragment.sql).get(...fragment.params) ?? 0;

  return (filter: TokenFilter, page: PageRequest, now: Instant): PageOf<PresentedToken> => {
    const tenant = tenants.find(filter.tenant_id);
    const query = toQuery(filter);
    if (tenant === undefined || query === undefined) return { records: [], total: 0 };
    const plan = planTokens(tenant, withSets(query, tenant, sets), now, count);
    const total = count(plan.total);
    // Asking for no more than there are lets a walk stop at the last one.
    const limit = Math.min(page.limit, total - page.offset);
    if (limit <= 0) return { records: [], total };
    const numbers = cached(`${plan.list.sql} ${PAGE}`).all(...plan.list.params, limit, page.offset);
    return { records: tokens.getAll(filter.tenant_id, tenant, numbers), total };
  };
}
