import { MAX_TOTAL } from '../../../contract/page.ts';
import { isBytes } from '../../../core/bytes.ts';
import type { Instant, PageRequest, TokenFilter } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { FoundPage, Scan, ScanSlice, Walk, WalkSlice } from '../../../core/scan-ports.ts';
import { type Fragment, raw, type SqlParameter, sql } from '../../rows/fragment.ts';
import { storedNumber, storedText } from '../../rows/stored-value.ts';
import { weightOf } from '../../rows/token-query.ts';
import { type Connection, statements } from '../file/driver.ts';
import type { ContainerSets } from './container-sets.ts';
import { planQuery } from './plan-query.ts';
import { LISTED_COLUMNS, type PresentedRow, SCANNED_COLUMNS, toPresentedToken } from './presented-token.ts';
import type { TenantRows } from './tenant-rows.ts';
import { planScan, planTokens, planWalk } from './token-plan.ts';

/** The maximum number of parameters of a statement in SQLite. */
const MAX_PARAMETERS = 32_766;

/** The maximum number of statements that stay prepared. */
const CACHED = 64;

/** The values of numbered parameters. */
type Named = Readonly<Record<string, SqlParameter>>;

/** A result row of a walk. A count has only the first column. */
type WalkedRow = readonly [token: number, created_at: number, id: string, isFound: number];

/** Returns a statement that selects `LISTED_COLUMNS` of a planned page. An index entry without a row gives NULLs. */
const pageOf = (page: Fragment, limit: number, offset: number, tenant: number) =>
  sql`WITH page (token, created_at, id) AS (${page} LIMIT +${limit} OFFSET +${offset})
  SELECT ${raw(LISTED_COLUMNS)} FROM page LEFT JOIN token t ON t.token = page.token AND t.tenant = +${tenant}
  ORDER BY page.created_at DESC, page.id`;

/**
 * Returns the functions that find pages of tokens. All are synchronous. Call them inside a read transaction, so that
 * page and total agree.
 */
export function tokenLists(connection: Connection, tenants: TenantRows, sets: ContainerSets) {
  const { lists } = statements(connection);
  const byNumbers = (columns: string) =>
    lists<[string, number], PresentedRow>(
      `SELECT ${columns} FROM json_each(?) j CROSS JOIN token t ON t.token = j.value WHERE t.tenant = +? ORDER BY j.key`,
    );
  const presented = byNumbers(LISTED_COLUMNS);
  const scanned = byNumbers(SCANNED_COLUMNS);
  const walks = statementCache<WalkedRow>(connection);
  const pages = statementCache<PresentedRow>(connection);

  const count = (fragment: Fragment): number => walks(fragment).get()?.[0] ?? 0;

  function queryOf(filter: TokenFilter) {
    const tenant = tenants.find(filter.tenant_id);
    return tenant === undefined ? undefined : planQuery(filter, tenant, sets);
  }

  /** Runs a planned walk. Returns the numbers of the matching tokens, and the position after `limit` rows. */
  function walk(walked: Fragment, limit: number) {
    const rows = walks(sql`${walked} LIMIT +${limit}`).all();
    const last = rows.at(-1);
    const next =
      last === undefined || rows.length < limit
        ? undefined
        : { created_at: storedNumber(last[1]), id: storedText(last[2]) };
    return { numbers: rows.filter(([, , , isFound]) => isFound === 1).map(([token]) => token), next };
  }

  /** Returns the tokens with these numbers, in the same order. Throws `integrity_failure` for a missing row. */
  function getAll(query: typeof presented, tenantId: string, tenant: number, numbers: readonly number[]) {
    const rows = query().all(JSON.stringify(numbers), tenant);
    // An index entry without a row means that the file was altered.
    if (rows.length !== numbers.length) throw new Problem('integrity_failure');
    return rows.map((row) => toPresentedToken(tenantId, row));
  }

  return {
    findTokens(filter: TokenFilter, { offset, limit }: PageRequest, now: Instant): FoundPage {
      const query = queryOf(filter);
      if (query === undefined) return { records: [], total: 0 };
      const plan = planTokens(query, now, offset + limit, count);
      const total = plan.total && count(plan.total);
      // With a limit no greater than the number of matches, the walk stops at the last match.
      const wanted = total === undefined || total > MAX_TOTAL ? limit : Math.min(limit, total - offset);
      if (wanted <= 0) return { records: [], total };
      if (plan.list === undefined) return { records: undefined, total };
      const rows = pages(pageOf(plan.list, wanted, offset, query.tenant)).all();
      return { records: rows.map((row) => toPresentedToken(filter.tenant_id, row)), total };
    },

    walkTokens(filter: TokenFilter, { after, order, limit, skip, take }: Walk, now: Instant): WalkSlice {
      const query = queryOf(filter);
      if (query === undefined) return { found: 0, records: [] };
      const most = Math.ceil(limit / weightOf(query));
      const { numbers, next } = walk(planWalk(query, { after, order }, now, count), most);
      const taken = numbers.slice(skip, skip + take);
      return { found: numbers.length, records: getAll(presented, filter.tenant_id, query.tenant, taken), next };
    },

    scanTokens(filter: TokenFilter, { after, order, limit }: Scan, now: Instant): ScanSlice {
      const query = queryOf(filter);
      if (query === undefined) return { records: [] };
      const { numbers, next } = walk(planScan(query, { after, order }, now), limit);
      return { records: getAll(scanned, filter.tenant_id, query.tenant, numbers), next };
    },
  };
}

/** Returns a function that prepares a statement for its values, and keeps the most recently used ones. */
function statementCache<Row extends readonly unknown[]>(connection: Connection) {
  const cache = new Map<string, ReturnType<typeof prepare>>();
  const prepare = (sql: string) => connection.prepare<(SqlParameter | Named)[], Row>(sql).raw();
  return (fragment: Fragment) => {
    const { sql, values } = bound(fragment);
    const statement = cache.get(sql) ?? prepare(sql);
    cache.delete(sql);
    cache.set(sql, statement);
    if (cache.size > CACHED) for (const oldest of [...cache.keys()].slice(0, cache.size - CACHED)) cache.delete(oldest);
    return { get: () => statement.get(...values), all: () => statement.all(...values) };
  };
}

/**
 * Returns a statement with its values. If it has too many parameters, equal ones share a number: pairs repeat rules.
 */
function bound({ sql, params }: Fragment): {
  readonly sql: string;
  readonly values: readonly (SqlParameter | Named)[];
} {
  if (params.length <= MAX_PARAMETERS) return { sql, values: params };
  const numbers = new Map<string, number>();
  const named: Record<string, SqlParameter> = {};
  const numbered = params.map((value) => {
    const key = isBytes(value) ? `b${Buffer.from(value).toString('latin1')}` : `${typeof value} ${value}`;
    const number = numbers.get(key) ?? numbers.size + 1;
    numbers.set(key, number);
    named[number] = value;
    return number;
  });
  let at = 0;
  return { sql: sql.replaceAll('?', () => `?${numbered[at++]}`), values: [named] };
}
