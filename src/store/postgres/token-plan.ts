import { MAX_TOTAL } from '../../contract/page.ts';
import type { Instant, PageRequest, TokenCondition } from '../../core/ports.ts';
import type { ScanPosition } from '../../core/scan-ports.ts';
import { storedNumber } from '../rows/stored-value.ts';
import { FEW, fewOf, isEverything, type TokenQuery, without } from '../rows/token-query.ts';
import { PRESENTED_COLUMNS } from './decode-token.ts';
import { type Fragment, join, raw, sql } from './fragment.ts';
import type { Row } from './sql-client.ts';
import { blindsOf, idsOf, isLive, wherePrefix, whereQuery } from './token-conditions.ts';

/**
 * The statements of a list. A statement is absent if it would read more than a few thousand tokens; the list is then
 * read in slices.
 */
export interface TokenPlan {
  /** Selects `PRESENTED_COLUMNS` of the page, in order. */
  readonly list: Fragment | undefined;
  /** Returns one row: the total, and the number of expired tokens that were subtracted or passed over. */
  readonly total: Fragment | undefined;
}

/** The rows that a search examines, with the row `t` of `token`. Each row must still meet `rest`. */
interface Start {
  readonly from: Fragment;
  /** The column that orders the rows, newest first. */
  readonly created: Fragment;
  readonly rest: TokenQuery;
  /** Whether the rows are read in the order of the list. */
  readonly isOrdered: boolean;
}

interface Choice {
  readonly start: Start;
  /** Whether the search reads only few tokens for any page. */
  readonly isFew: boolean;
}

/** The size of a tenant, and how many tokens a search would read from each condition. */
export interface Weights {
  readonly tenant: number;
  /** The number of the tenant's tokens, including expired ones. */
  readonly tokens: number;
  /** The number for each condition of `TokenQuery.all`, up to a limit; undefined if no index serves the condition. */
  readonly expected: readonly (number | undefined)[];
}

/** Returns the statement for `readWeights`. It returns no row if the tenant does not exist. */
export function weigh(tenantKey: string | null, query: TokenQuery): Fragment {
  const counts = query.all.map((condition) => {
    // The query has only this blind index, so there is nothing to choose and no other condition to test.
    if (onlyBlind(query) !== undefined) return sql`${FEW}::bigint`;
    // Use a lower limit: counting up to FEW for each condition would take longer than the list itself.
    return countUpTo(fewOf(without(query, condition)), condition);
  });
  const tokens = raw('(SELECT coalesce(sum(live), 0)::bigint FROM vault.token_count WHERE tenant = n.tenant)');
  const columns = counts.reduce((before, count) => sql`${before}, ${count}`, sql`n.tenant, ${tokens}`);
  return sql`SELECT ${columns} FROM vault.tenant n WHERE n.id = ${tenantKey}`;
}

/**
 * Returns the count of a condition up to `most`. Orders the rows by the index that serves it, to exclude other indexes.
 */
function countUpTo(most: number, condition: TokenCondition): Fragment {
  if ('id_in' in condition) return sql`${idsOf(condition.id_in).length}::bigint`;
  if ('id_prefix' in condition) {
    return sql`(SELECT count(*) FROM (SELECT 1 FROM vault.token WHERE tenant = n.tenant
      AND ${wherePrefix('id', condition.id_prefix)} ORDER BY id LIMIT ${most}) x)`;
  }
  if (!('index_in' in condition)) return raw('NULL');
  return sql`(SELECT count(*) FROM (SELECT 1 FROM unnest(${blindsOf(condition.index_in)}::uuid[]) w (blind),
    LATERAL (SELECT 1 FROM vault.token_index WHERE tenant = n.tenant AND blind = w.blind
      ORDER BY created_at, token LIMIT ${most}) x LIMIT ${most}) y)`;
}

export function readWeights([tenant, tokens, ...expected]: Row): Weights {
  return {
    tenant: storedNumber(tenant),
    tokens: storedNumber(tokens),
    expected: expected.map((count) => (count === null ? undefined : storedNumber(count))),
  };
}

/**
 * Chooses how to find the tokens of one tenant.
 *
 * - No condition, or types only: the total comes from the counters; the list walks the index of the newest tokens.
 * - Otherwise the search starts from the most selective condition on ids and blind indexes. A start from one blind
 *   index walks its entries, newest first, so the cost depends only on the page. Several blind indexes have no common
 *   order; if they match many tokens, the list walks the newest tokens.
 */
export function planTokens(weights: Weights, query: TokenQuery, page: PageRequest, now: Instant): TokenPlan {
  const { start, isFew } = choose(weights, query);
  const isNear = start.isOrdered && page.offset + page.limit <= FEW && isEverything(start.rest);
  const total = totalFromCounters(weights.tenant, query, now) ?? totalFromIndex(weights.tenant, query, now);
  return {
    list: isFew || isNear ? listOf(start, page, now) : undefined,
    total: total ?? (isFew ? totalOf(start, now) : undefined),
  };
}

/** One slice of a walk: it examines `limit` tokens, and returns the `take` matches after the first `skip` ones. */
export interface Slice {
  readonly after: ScanPosition | undefined;
  readonly limit: number;
  readonly skip: number;
  readonly take: number;
}

/**
 * Plans a slice of a list. The statement returns a row for each examined token: time of creation, id, whether the query
 * matches, and `columns`, which are NULL unless the token is one of the wanted matches.
 */
export function planWalk(weights: Weights, query: TokenQuery, slice: Slice, now: Instant, columns: string): Fragment {
  return walkOf(choose(weights, query).start, slice, now, columns);
}

/** Plans a slice of a walk over all tokens of the tenant, for any query. */
export function planScan(tenant: number, query: TokenQuery, slice: Slice, now: Instant, columns: string): Fragment {
  return walkOf(startFromNewest(tenant, query), slice, now, columns);
}

function choose({ tenant, tokens, expected }: Weights, query: TokenQuery): Choice {
  let best: { readonly condition: TokenCondition; readonly count: number } | undefined;
  for (const [index, condition] of query.all.entries()) {
    const count = expected[index];
    if (count !== undefined && (best === undefined || count < best.count)) best = { condition, count };
  }
  if (best !== undefined) {
    const start = startFrom(tenant, query, best.condition);
    const isFew = best.count < fewOf(start.rest);
    if (isFew || start.isOrdered) return { start, isFew };
  }
  return { start: startFromNewest(tenant, query), isFew: tokens < fewOf(query) };
}

/** The row of `token` with the number of the row `i`. OFFSET 0 keeps PostgreSQL from joining in another order. */
const TOKEN_OF_I = raw('LATERAL (SELECT * FROM vault.token WHERE token = i.token OFFSET 0) t');

function startFrom(tenant: number, query: TokenQuery, condition: TokenCondition): Start {
  const rest = without(query, condition);
  const created = raw('t.created_at');
  const live = sql`t.tenant = ${tenant} AND t.deleted_at IS NULL`;
  if ('id_in' in condition) {
    const from = sql`unnest(${idsOf(condition.id_in)}::text[]) w (id), LATERAL
      (SELECT * FROM vault.token WHERE tenant = ${tenant} AND id = w.id OFFSET 0) t WHERE ${live}`;
    return { from, created, rest, isOrdered: false };
  }
  if ('id_prefix' in condition) {
    const ids = wherePrefix('id', condition.id_prefix);
    const from = sql`(SELECT * FROM vault.token WHERE tenant = ${tenant} AND ${ids} OFFSET 0) t WHERE ${live}`;
    return { from, created, rest, isOrdered: false };
  }
  const blinds = 'index_in' in condition ? blindsOf(condition.index_in) : [];
  if (blinds.length === 1) {
    const from = sql`vault.token_index i, ${TOKEN_OF_I} WHERE i.tenant = ${tenant} AND i.blind = ${blinds[0]} AND ${live}`;
    return { from, created: raw('i.created_at'), rest, isOrdered: true };
  }
  const from = sql`(SELECT DISTINCT x.token FROM unnest(${blinds}::uuid[]) w (blind), LATERAL
      (SELECT token FROM vault.token_index WHERE tenant = ${tenant} AND blind = w.blind OFFSET 0) x) i,
    ${TOKEN_OF_I} WHERE ${live}`;
  return { from, created, rest, isOrdered: false };
}

function startFromNewest(tenant: number, query: TokenQuery): Start {
  const from = sql`vault.token t WHERE t.tenant = ${tenant} AND t.deleted_at IS NULL`;
  return { from, created: raw('t.created_at'), rest: query, isOrdered: true };
}

/** Returns the statement of a page. It reads the wide columns after the sort, so that the sort does not carry them. */
function listOf(start: Start, { offset, limit }: PageRequest, now: Instant): Fragment {
  const { created } = start;
  return sql`SELECT ${raw(PRESENTED_COLUMNS)} FROM (
      SELECT t.token, ${created}, t.id ${bodyOf(start, now)} ORDER BY ${created} DESC, t.id LIMIT ${limit} OFFSET ${offset}
    ) i, ${TOKEN_OF_I} ORDER BY i.created_at DESC, i.id`;
}

function totalOf(start: Start, now: Instant): Fragment {
  return sql`SELECT count(*), 0 ${bodyOf(start, now)}`;
}

function bodyOf({ from, rest }: Start, now: Instant): Fragment {
  return sql`FROM ${from} AND ${whereQuery(rest)} AND ${isLive(now)}`;
}

function walkOf(start: Start, { after, limit, skip, take }: Slice, now: Instant, columns: string): Fragment {
  const { created, from, rest } = start;
  const behind =
    after === undefined
      ? raw('TRUE')
      : sql`${created} <= ${after.created_at} AND (${created} < ${after.created_at} OR t.id > ${after.id})`;
  return sql`SELECT i.created_at, i.id, i.is_found, ${raw(columns)} FROM (
      SELECT *, count(*) FILTER (WHERE is_found) OVER (ORDER BY created_at DESC, id ROWS UNBOUNDED PRECEDING) AS place
      FROM (SELECT t.token, ${created}, t.id, (${whereQuery(rest)} AND ${isLive(now)}) AS is_found
        FROM ${from} AND ${behind} ORDER BY ${created} DESC, t.id LIMIT ${limit}) e
    ) i LEFT JOIN LATERAL (SELECT * FROM vault.token
      WHERE token = i.token AND i.is_found AND i.place - ${skip}::bigint BETWEEN 1 AND ${take}::bigint OFFSET 0
    ) t ON true ORDER BY i.created_at DESC, i.id`;
}

/** Returns the total of a query that has no conditions except types. */
function totalFromCounters(tenant: number, query: TokenQuery, now: Instant): Fragment | undefined {
  if (query.anyOf !== undefined || query.all.some((condition) => !('type_in' in condition))) return undefined;
  const types = whereQuery(query);
  return lessExpired(
    sql`SELECT coalesce(sum(t.live), 0)::bigint FROM vault.token_count t WHERE t.tenant = ${tenant} AND ${types}`,
    types,
    tenant,
    now,
  );
}

/**
 * Returns the total of a single blind index, counted from its entries up to the cap. Reads no tokens except expired
 * ones.
 */
function totalFromIndex(tenant: number, query: TokenQuery, now: Instant): Fragment | undefined {
  const blind = onlyBlind(query);
  if (blind === undefined) return undefined;
  return lessExpired(
    sql`SELECT count(*) FROM (SELECT 1 FROM vault.token_index WHERE tenant = ${tenant} AND blind = ${blind}
      ORDER BY created_at, token LIMIT ${MAX_TOTAL + 1}::bigint + (SELECT examined FROM expired)) x`,
    whereQuery(query),
    tenant,
    now,
  );
}

/** Returns the blind index of a query that has no other condition. */
function onlyBlind({ all, anyOf }: TokenQuery): string | undefined {
  const [only] = all;
  if (only === undefined || !('index_in' in only) || all.length > 1 || anyOf !== undefined) return undefined;
  const blinds = blindsOf(only.index_in);
  return blinds.length === 1 ? blinds[0] : undefined;
}

function lessExpired(all: Fragment, where: Fragment, tenant: number, now: Instant): Fragment {
  return sql`WITH expired AS MATERIALIZED (
      SELECT count(*) AS examined, count(*) FILTER (WHERE ${join([where], 'AND')}) AS matching FROM (
        SELECT * FROM vault.token WHERE expires_at IS NOT NULL AND expires_at <= ${now} AND tenant = ${tenant}
          AND deleted_at IS NULL ORDER BY expires_at LIMIT ${MAX_TOTAL + 1}) t)
    SELECT (${all}) - matching, examined FROM expired`;
}
