import type { Instant, TokenFilter } from '../../../core/ports.ts';
import type { ScanPosition, ScanSlice } from '../../../core/scan-ports.ts';
import type { Connection } from '../file/driver.ts';
import { storedNumber, storedText } from './columns.ts';
import type { ContainerSets } from './container-sets.ts';
import type { PresentedTokenRows } from './presented-token-rows.ts';
import type { TenantRows } from './tenant-rows.ts';
import { type Fragment, toQuery, type Value, whereQuery, withSets } from './token-conditions.ts';

type Row = readonly [token: number, created_at: number, id: string, isFound: number];

/** A slice begins inside an instant and continues before it. Each part is one range of the index, so no row is read twice. */
function rangesBehind(after: ScanPosition | undefined): readonly Fragment[] {
  if (after === undefined) return [{ sql: 'TRUE', params: [] }];
  const { created_at, id } = after;
  return [
    { sql: 't.created_at = +? AND t.id > ?', params: [created_at, id] },
    { sql: 't.created_at < ?', params: [created_at] },
  ];
}

/** The two statements of a slice. Their rows are numbers of tokens in the order of lists, and whether the filter has them. */
export function planScan(
  tenant: number,
  found: Fragment,
  after: ScanPosition | undefined,
  now: Instant,
): readonly Fragment[] {
  return rangesBehind(after).map((range) => ({
    sql: `SELECT t.token, t.created_at, t.id, (${found.sql} AND (t.expires_at IS NULL OR t.expires_at > ?))
      FROM token t INDEXED BY token_newest WHERE t.tenant = +? AND ${range.sql} ORDER BY t.created_at DESC, t.id LIMIT +?`,
    params: [...found.params, now, tenant, ...range.params],
  }));
}

/** Reads slices of scans. Synchronous; needs one snapshot. */
export function scanTokens(
  connection: Connection,
  tenants: TenantRows,
  sets: ContainerSets,
  tokens: PresentedTokenRows,
) {
  return (
    filter: TokenFilter,
    { after, limit }: { readonly after: ScanPosition | undefined; readonly limit: number },
    now: Instant,
  ): ScanSlice => {
    const tenant = tenants.find(filter.tenant_id);
    const query = toQuery(filter);
    if (tenant === undefined || query === undefined) return { records: [] };
    const rows: Row[] = [];
    for (const { sql, params } of planScan(tenant, whereQuery(withSets(query, tenant, sets)), after, now)) {
      if (rows.length === limit) break;
      rows.push(
        ...connection
          .prepare<Value[], Row>(sql)
          .raw()
          .all(...params, limit - rows.length),
      );
    }
    const numbers = rows.filter(([, , , isFound]) => isFound === 1).map(([token]) => token);
    const records = tokens.scanAll(filter.tenant_id, tenant, numbers);
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return { records };
    return { records, next: { created_at: storedNumber(last[1]), id: storedText(last[2]) } };
  };
}
