import { MAX_TOTAL } from '../../contract/page.ts';
import type { Store, TokenFilter } from '../../core/ports.ts';
import type { FoundPage, ScanSlice, WalkSlice } from '../../core/scan-ports.ts';
import type { Fragment } from '../rows/fragment.ts';
import type { Row } from '../rows/store-steps.ts';
import { storedNumber, storedText } from '../rows/stored-value.ts';
import { type TokenQuery, toQuery, weightOf } from '../rows/token-query.ts';
import { type Connections, PLAN_BY_ORDER, type Run } from './connections.ts';
import { toBound } from './sql-client.ts';
import { planTokens, planWalk, readWeights, type Weights, weigh } from './token-plan.ts';
import { PAGE_COLUMNS, SCANNED_COLUMNS, toPresentedToken, toScannedToken } from './token-reads.ts';
import { uuidKey } from './uuid-text.ts';

/** The number of columns of a walk before those of the token. */
const WALK_WIDTH = 3;

const send = (run: Run, fragment: Fragment | undefined) => fragment && run(...toBound(fragment));

/** Returns the number of matches; undefined if too many tokens have expired to subtract them. */
function totalOf([row = []]: readonly Row[]): number | undefined {
  const [total, expired] = row.map(storedNumber);
  return expired !== undefined && expired <= MAX_TOTAL ? total : undefined;
}

/** Reads the rows of a walk that examined at most `limit` tokens. */
function sliceOf<T>(rows: readonly Row[], limit: number, decode: (tenantId: string, row: Row) => T, tenantId: string) {
  const [created, id] = rows.length < limit ? [] : (rows.at(-1) ?? []);
  return {
    found: rows.filter(([, , isFound]) => isFound === true).length,
    records: rows.flatMap((row) => (row[WALK_WIDTH] === null ? [] : [decode(tenantId, row.slice(WALK_WIDTH))])),
    next: id === undefined ? undefined : { created_at: storedNumber(created), id: storedText(id) },
  };
}

/** Each list reads one snapshot in two round trips: the first chooses the start, the second reads the rows. */
export function findTokensMethods({ readSnapshot }: Pick<Connections, 'readSnapshot'>) {
  /** Reads the weights for `weighed` or the filter, then the rows. Resolves to `nothing` if no token can match. */
  async function search<T>(
    filter: TokenFilter,
    { nothing, weighed }: { readonly nothing: T; readonly weighed?: TokenQuery },
    find: (run: Run, weights: Weights, query: TokenQuery) => Promise<T>,
  ): Promise<T> {
    const query = toQuery(filter);
    if (query === undefined) return nothing;
    return readSnapshot(async (run) => {
      const weighing = weigh(uuidKey(filter.tenant_id), weighed ?? query, filter.visible);
      const [, [row]] = await Promise.all([run(PLAN_BY_ORDER), run(...toBound(weighing))]);
      const weights = row && readWeights(row);
      return weights === undefined || weights.visible.length === 0 ? nothing : find(run, weights, query);
    });
  }

  return {
    findTokens: (filter, page, now) =>
      search<FoundPage>(filter, { nothing: { records: [], total: 0 } }, async (run, weights, query) => {
        const plan = planTokens(weights, query, page, now);
        const [rows, totals] = await Promise.all([page.limit === 0 ? [] : send(run, plan.list), send(run, plan.total)]);
        const total = totals && totalOf(totals);
        const isBeyond = total !== undefined && total <= Math.min(page.offset, MAX_TOTAL);
        return {
          records: isBeyond ? [] : rows?.map((found) => toPresentedToken(filter.tenant_id, found)),
          total,
        };
      }),

    walkTokens: (filter, walk, now) =>
      search<WalkSlice>(filter, { nothing: { found: 0, records: [] } }, async (run, weights, query) => {
        const limit = Math.ceil(walk.limit / weightOf(query));
        const plan = planWalk(weights, query, { ...walk, limit }, now, PAGE_COLUMNS);
        return sliceOf(await run(...toBound(plan)), limit, toPresentedToken, filter.tenant_id);
      }),

    scanTokens: (filter, { after, order, limit }, now) =>
      // Without weighed conditions, the walk starts from all tokens.
      search<ScanSlice>(filter, { nothing: { records: [] }, weighed: { all: [] } }, async (run, weights, query) => {
        const plan = planWalk(weights, query, { after, order, limit, skip: 0, take: limit }, now, SCANNED_COLUMNS);
        return sliceOf(await run(...toBound(plan)), limit, toScannedToken, filter.tenant_id);
      }),
  } satisfies Partial<Store>;
}
