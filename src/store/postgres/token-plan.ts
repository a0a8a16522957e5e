import { MAX_TOTAL } from '../../contract/page.ts';
import type { Instant, PageRequest, TokenCondition, TokenFilter } from '../../core/ports.ts';
import type { Walk } from '../../core/scan-ports.ts';
import { containerRules } from '../rows/container-sets.ts';
import { type Fragment, join, list, raw, sql } from '../rows/fragment.ts';
import type { Row } from '../rows/store-steps.ts';
import { storedNumber, storedText } from '../rows/stored-value.ts';
import { FEW, fewOf, isEverything, type TokenQuery, without } from '../rows/token-query.ts';
import { isBehind, type WalkOrder, walkOrder } from '../rows/walk-order.ts';
import { isLive, wherePrefix } from '../rows/where.ts';
import { storedList } from './sql-client.ts';
import { blindsOf, idsOf, whereQuery } from './token-conditions.ts';
import { PAGE_COLUMNS } from './token-reads.ts';

/** The facts about a tenant that decide where a search starts. */
export type Weights = ReturnType<typeof readWeights>;

/** The tenant and its visible sets in a statement. */
type Scope = Readonly<Record<'tenant' | 'visible', Fragment>>;

/** The weights, and the order in which the rows are wanted. */
type Ordered = Weights & { readonly order: WalkOrder };

type Rules = ReturnType<typeof containerRules>;

/** Returns the statement for `readWeights`. It returns no row if the tenant does not exist. */
export function weigh(tenantKey: string | null, query: TokenQuery, visible: TokenFilter['visible']): Fragment {
  const scope = { tenant: raw('n.tenant'), visible: raw('v.visible') };
  const rules = containerRules(visible);
  const counts = query.all.map((condition) => {
    const only = onlyBlinds(query);
    // The query has only this blind index, so there is nothing to choose and no other condition to test.
    if (only?.length === 1) return sql`${FEW}::bigint, ${countEntries(scope, only, raw('1'))}`;
    // Use a lower limit: counting up to FEW for each condition would take longer than the list itself.
    return countUpTo(fewOf(without(query, condition)), condition, scope);
  });
  const columns = list([sql`n.tenant, v.visible, v.sets, ${countTokens(query, rules, scope)}`, ...counts], ', ');
  return sql`SELECT ${columns} FROM vault.tenant n, LATERAL (
      SELECT array_agg(number) AS visible, array_agg(array_to_string(number::text || containers::text[], ' ')) AS sets
      FROM ${visibleSets(rules)}) v
    WHERE n.id = ${tenantKey}`;
}

/** Returns the number of tokens, for a search that no index serves. */
function countTokens(query: TokenQuery, rules: Rules, { tenant }: Scope): Fragment {
  if (query.all.some((each) => 'id_in' in each || 'id_prefix' in each || 'index_in' in each)) return raw('0');
  return rules === undefined
    ? raw('(SELECT coalesce(sum(live), 0)::bigint FROM vault.token_count WHERE tenant = n.tenant)')
    : countMembers(tenant, raw('SELECT unnest(v.visible)'), sql`${fewOf(query)}`);
}

/**
 * Returns the sets of the tenant `n` that can have tokens visible by these rules, with their containers. Set 0 has
 * those of the rules that have an entry.
 */
function visibleSets(rules: Rules): Fragment {
  const numbered = raw('UNION ALL SELECT number, containers FROM vault.container_set WHERE tenant = n.tenant');
  if (rules === undefined) {
    return sql`(SELECT 0::smallint, ARRAY[]::uuid[] FROM (SELECT 1 FROM vault.token
        WHERE tenant = n.tenant AND set_number = 0 AND deleted_at IS NULL ORDER BY created_at LIMIT 1) t
      ${numbered}) s (number, containers)`;
  }
  const hasOneOf = (list: readonly Uint8Array[]) => sql`containers && ${blindsOf(list)}::uuid[]`;
  const hasAll = rules.map((lists) => join(lists.map(hasOneOf), 'AND'));
  return sql`(SELECT 0::smallint, ARRAY(SELECT w.blind FROM unnest(${blindsOf(rules.flat(2))}::uuid[]) w (blind),
      LATERAL (SELECT 1 FROM vault.token_index WHERE tenant = n.tenant AND blind = w.blind AND set_number = 0
        ORDER BY created_at, token LIMIT 1) x) ${numbered}) s (number, containers)
    WHERE ${join(hasAll, 'OR')}`;
}

/** Returns the columns of `Weights.expected` for a condition: counts up to `most`. */
function countUpTo(most: number, condition: TokenCondition, scope: Scope): Fragment {
  if ('id_in' in condition) return sql`${idsOf(condition.id_in).length}::bigint, 0`;
  if ('id_prefix' in condition) {
    return sql`(SELECT count(*) FROM (SELECT 1 FROM vault.token WHERE tenant = n.tenant
      AND ${wherePrefix('id', condition.id_prefix)} ORDER BY id LIMIT ${most}) x), 0`;
  }
  if (!('index_in' in condition)) return raw('NULL, 0');
  const blinds = blindsOf(condition.index_in);
  const numbers = sql`SELECT number FROM vault.container_set
    WHERE tenant = n.tenant AND containers && ${blinds}::uuid[] AND number = ANY (v.visible)`;
  const entries = countEntries(scope, blinds, sql`${most}`);
  return sql`${countMembers(scope.tenant, numbers, sql`${most}`)}, ${entries}`;
}

/** Returns the count of entries in visible sets. Orders them by their index, to exclude other indexes. */
function countEntries({ tenant, visible }: Scope, blinds: readonly string[], most: Fragment): Fragment {
  return sql`(SELECT count(*) FROM (SELECT 1 FROM unnest(${blinds}::uuid[]) w (blind), unnest(${visible}) s (number),
    LATERAL (SELECT 1 FROM vault.token_index WHERE tenant = ${tenant} AND blind = w.blind AND set_number = s.number
      ORDER BY created_at, token OFFSET 0) x LIMIT ${most}) y)`;
}

/** Returns the count of tokens in these sets. */
function countMembers(tenant: Fragment, numbers: Fragment, most: Fragment): Fragment {
  return sql`(SELECT count(*) FROM (SELECT 1 FROM (${numbers}) s (number),
    LATERAL (SELECT 1 FROM vault.token WHERE tenant = ${tenant} AND set_number = s.number AND deleted_at IS NULL
      ORDER BY created_at OFFSET 0) x LIMIT ${most}) y)`;
}

export function readWeights([tenant, visible, sets, tokens, ...expected]: Row) {
  // An aggregate over no rows is NULL.
  const parts = storedList(sets ?? []).map((text) => storedText(text).split(' '));
  return {
    tenant: storedNumber(tenant),
    /** The container sets that can have visible tokens. `setsOf` returns only these. */
    visible: storedList(visible ?? []).map(storedNumber),
    setsOf: (blinds: readonly string[]) =>
      parts
        .filter(([number, ...containers]) => number !== '0' && containers.some((each) => blinds.includes(each)))
        .map(([number]) => Number(number)),
    /** The number of tokens in visible sets: up to a limit if sets are hidden, 0 if an index serves the query. */
    tokens: storedNumber(tokens),
    /**
     * How many visible tokens a search would read from each condition of `TokenQuery.all`, up to a limit, and how many
     * of them by entries of `token_index`. Undefined if no index serves the condition.
     */
    expected: expected.flatMap((count, at) => {
      if (at % 2 === 1) return [];
      const entries = storedNumber(expected[at + 1]);
      return [count === null ? undefined : { count: storedNumber(count) + entries, entries }];
    }),
  };
}

/**
 * Chooses how to find the tokens of one tenant.
 *
 * - No condition, or types only: the total comes from the counters; the list walks the newest tokens of each set.
 * - Otherwise the search starts from the most selective condition on ids and blind indexes. A start from one blind
 *   index merges walks of its entries in each set, newest first, so the cost depends only on the page. Containers merge
 *   walks of their sets. Several blind indexes with entries have no common order; if they match many tokens, the list
 *   walks the newest tokens.
 *
 * Except by ids, a search reads no token and no entry of a set without visible tokens.
 *
 * A statement is absent if it would read more than a few thousand tokens; the list is then read in slices. `list`
 * selects `PAGE_COLUMNS` of the page, in order. `total` returns one row: the total, and the number of expired
 * tokens that were subtracted or passed over.
 */
export function planTokens(weights: Weights, query: TokenQuery, page: PageRequest, now: Instant) {
  const { start, rest, isFew } = choose({ ...weights, order: walkOrder() }, query);
  const body = sql`FROM ${start.from} AND ${whereQuery(rest, weights.setsOf)} AND ${isLive(now)}`;
  const isNear = start.isOrdered && page.offset + page.limit <= FEW && isEverything(rest);
  const total = totalFromCounters(weights, query, now) ?? totalFromIndex(weights, query, now);
  return {
    list: isFew || isNear ? pageOf(body, start.created, page) : undefined,
    total: total ?? (isFew ? sql`SELECT count(*), 0 ${body}` : undefined),
  };
}

/**
 * Plans one step of a walk. The statement returns a row for each examined token: time of creation, id, whether the
 * query matches, and `columns`, which are NULL unless the token is one of the wanted matches.
 */
export function planWalk(weights: Weights, query: TokenQuery, walk: Walk, now: Instant, columns: string): Fragment {
  const { after, limit, skip, take } = walk;
  const order = walkOrder(walk.order);
  const { start, rest } = choose({ ...weights, order }, query);
  const { created, from } = start;
  const behind = isBehind(order, created, after);
  return sql`SELECT i.created_at, i.id, i.is_found, ${raw(columns)} FROM (
      SELECT *, count(*) FILTER (WHERE is_found) OVER (ORDER BY created_at ${order.created}, id ${order.id} ROWS UNBOUNDED PRECEDING) AS rank
      FROM (SELECT t.token, ${created}, t.id, (${whereQuery(rest, weights.setsOf)} AND ${isLive(now)}) AS is_found
        FROM ${from} AND ${behind} ORDER BY ${created} ${order.created}, t.id ${order.id} LIMIT ${limit}) e
    ) i LEFT JOIN LATERAL (SELECT * FROM vault.token
      WHERE token = i.token AND i.is_found AND i.rank - ${skip}::bigint BETWEEN 1 AND ${take}::bigint OFFSET 0
    ) t ON true ORDER BY i.created_at ${order.created}, i.id ${order.id}`;
}

/** Returns the best start and the other conditions. With `isFew`, the search reads few tokens for any page. */
function choose(weights: Ordered, query: TokenQuery) {
  const served = query.all.flatMap((condition, index) => {
    const expected = weights.expected[index];
    return expected === undefined ? [] : [{ condition, ...expected }];
  });
  const [best] = served.toSorted((a, b) => a.count - b.count);
  if (best !== undefined) {
    const rest = without(query, best.condition);
    const start = startFrom(weights, best.condition, best.entries > 0);
    const isFew = best.count < fewOf(rest);
    if (isFew || start.isOrdered) return { start, rest, isFew };
  }
  const isFew = best === undefined && weights.tokens < fewOf(query);
  return { start: startFromSets(weights.tenant, weights.visible, weights.order), rest: query, isFew };
}

/** The row of `token` with the number of the row `i`. OFFSET 0 keeps PostgreSQL from joining in another order. */
const TOKEN_OF_I = raw('LATERAL (SELECT * FROM vault.token WHERE token = i.token OFFSET 0) t');

/**
 * Returns the rows that a search examines, with the row `t` of `token`. Each must still meet the other conditions.
 * `created` is the column that orders them. `isOrdered` is true if they have the order of the list.
 */
function startFrom(weights: Ordered, condition: TokenCondition, hasEntries: boolean) {
  const { tenant, visible, setsOf, order } = weights;
  const created = raw('t.created_at');
  const live = sql`t.tenant = ${tenant} AND t.deleted_at IS NULL`;
  if ('id_in' in condition) {
    const from = sql`unnest(${idsOf(condition.id_in)}::text[]) w (id), LATERAL
      (SELECT * FROM vault.token WHERE tenant = ${tenant} AND id = w.id OFFSET 0) t WHERE ${live}`;
    return { from, created, isOrdered: false };
  }
  if ('id_prefix' in condition) {
    const ids = wherePrefix('id', condition.id_prefix);
    const from = sql`(SELECT * FROM vault.token WHERE tenant = ${tenant} AND ${ids} OFFSET 0) t WHERE ${live}`;
    return { from, created, isOrdered: false };
  }
  const blinds = 'index_in' in condition ? blindsOf(condition.index_in) : [];
  const sets = setsOf(blinds);
  if (!hasEntries && sets.length > 0) return startFromSets(tenant, sets, order);
  const members = sets.map((number) => membersOf(tenant, number, raw('token, created_at')));
  if (blinds.length === 1) {
    // A token has no entry for a container of its set.
    const others = visible.filter((number) => !sets.includes(number));
    const entries = others.map(
      (number) => sql`SELECT token, created_at FROM vault.token_index
        WHERE tenant = ${tenant} AND blind = ${blinds[0]} AND set_number = ${number}`,
    );
    const from = sql`(${union([...entries, ...members], order)}) i, ${TOKEN_OF_I} WHERE ${live}`;
    return { from, created: raw('i.created_at'), isOrdered: true };
  }
  const entries = sql`SELECT x.* FROM unnest(${blinds}::uuid[]) w (blind), unnest(${visible}::smallint[]) s (number),
    LATERAL (SELECT token, created_at FROM vault.token_index
      WHERE tenant = ${tenant} AND blind = w.blind AND set_number = s.number OFFSET 0) x`;
  const from = sql`(SELECT DISTINCT token FROM (${union([entries, ...members], order)}) x) i, ${TOKEN_OF_I} WHERE ${live}`;
  return { from, created, isOrdered: false };
}

function membersOf(tenant: number, number: number, columns: Fragment): Fragment {
  return sql`SELECT ${columns} FROM vault.token
    WHERE tenant = ${tenant} AND set_number = ${number} AND deleted_at IS NULL`;
}

/** Returns the rows of all these queries. PostgreSQL merges them only if each is ordered. */
function union(queries: readonly Fragment[], { created }: WalkOrder): Fragment {
  const [only] = queries;
  if (only !== undefined && queries.length === 1) return only;
  const ordered = queries.map((query) => sql`(${query} ORDER BY created_at ${created})`);
  return list(ordered, ' UNION ALL ');
}

/** Returns the start that merges walks of these sets. */
function startFromSets(tenant: number, numbers: readonly number[], order: WalkOrder) {
  const sets = numbers.map((number) => membersOf(tenant, number, raw('*')));
  const from = sql`(${union(sets, order)}) t WHERE t.tenant = ${tenant} AND t.deleted_at IS NULL`;
  return { from, created: raw('t.created_at'), isOrdered: true };
}

/** Returns the statement of a page. It reads the wide columns after the sort, so that the sort does not carry them. */
function pageOf(body: Fragment, created: Fragment, { offset, limit }: PageRequest): Fragment {
  return sql`SELECT ${raw(PAGE_COLUMNS)} FROM (
      SELECT t.token, ${created}, t.id ${body} ORDER BY ${created} DESC, t.id LIMIT ${limit} OFFSET ${offset}
    ) i, ${TOKEN_OF_I} ORDER BY i.created_at DESC, i.id`;
}

/** Returns the total of a query that has no conditions except types. */
function totalFromCounters({ tenant, setsOf }: Weights, query: TokenQuery, now: Instant): Fragment | undefined {
  if (query.anyOf !== undefined || query.all.some((condition) => !('type_in' in condition))) return undefined;
  const types = whereQuery(query, setsOf);
  const all = sql`SELECT coalesce(sum(t.live), 0)::bigint FROM vault.token_count t
    WHERE t.tenant = ${tenant} AND ${types}`;
  return lessExpired(all, types, tenant, now);
}

/**
 * Returns the total of a single condition on blind indexes that no token meets twice, counted from its entries and sets
 * up to the cap. Reads no tokens except expired ones.
 */
function totalFromIndex({ tenant, visible, setsOf, expected }: Weights, query: TokenQuery, now: Instant) {
  const blinds = onlyBlinds(query);
  if (blinds === undefined || (blinds.length > 1 && expected[0]?.entries !== 0)) return undefined;
  const most = sql`${MAX_TOTAL + 1}::bigint + (SELECT examined FROM expired)`;
  const sets = setsOf(blinds);
  const entries = countEntries({ tenant: sql`${tenant}`, visible: sql`${visible}::smallint[]` }, blinds, most);
  const members = countMembers(sql`${tenant}`, sql`SELECT unnest(${sets}::smallint[])`, most);
  return lessExpired(sql`SELECT ${entries} + ${members}`, whereQuery(query, setsOf), tenant, now);
}

/** Returns the blind indexes of a query that has no other condition. */
function onlyBlinds({ all, anyOf }: TokenQuery): readonly string[] | undefined {
  const [only] = all;
  return only !== undefined && 'index_in' in only && all.length === 1 && anyOf === undefined
    ? blindsOf(only.index_in)
    : undefined;
}

function lessExpired(all: Fragment, where: Fragment, tenant: number, now: Instant): Fragment {
  return sql`WITH expired AS MATERIALIZED (
      SELECT count(*) AS examined, count(*) FILTER (WHERE ${join([where], 'AND')}) AS matching FROM (
        SELECT * FROM vault.token WHERE expires_at IS NOT NULL AND expires_at <= ${now} AND tenant = ${tenant}
          AND deleted_at IS NULL ORDER BY expires_at LIMIT ${MAX_TOTAL + 1}) t)
    SELECT (${all}) - matching, examined FROM expired`;
}
