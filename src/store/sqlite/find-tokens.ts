import type { Instant, PageOf, PageRequest, ShownToken, TokenFilter } from '../../core/ports.ts';
import type { Connection } from './driver.ts';
import type { ShownTokenRows } from './shown-token-rows.ts';
import type { TenantRows } from './tenant-rows.ts';
import { type Fragment, toQuery, type Value } from './token-conditions.ts';
import { planTokens } from './token-plan.ts';

/** How many different statements are kept prepared. */
const CACHED = 64;

const PAGE = 'LIMIT +? OFFSET +?';

/** Finds one page of tokens. Synchronous; to be called on one snapshot, so that page and total agree. */
export function findTokens(connection: Connection, tenants: TenantRows, tokens: ShownTokenRows) {
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

  return (filter: TokenFilter, page: PageRequest, now: Instant): PageOf<ShownToken> => {
    const tenant = tenants.find(filter.tenant_id);
    const query = toQuery(filter);
    if (tenant === undefined || query === undefined) return { records: [], total: 0 };
    const plan = planTokens(tenant, query, now, count);
    const total = count(plan.total);
    // Asking for no more than there are lets a walk stop at the last one.
    const limit = Math.min(page.limit, total - page.offset);
    if (limit <= 0) return { records: [], total };
    const numbers = cached(`${plan.list.sql} ${PAGE}`).all(...plan.list.params, limit, page.offset);
    return { records: tokens.getAll(filter.tenant_id, tenant, numbers), total };
  };
}
