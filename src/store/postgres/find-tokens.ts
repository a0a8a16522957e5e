import { MAX_TOTAL } from '../../contract/page.ts';
import type { Store, TokenFilter } from '../../core/ports.ts';
import type { WalkSlice } from '../../core/scan-ports.ts';
import { storedNumber, storedText } from '../rows/stored-value.ts';
import { type TokenQuery, toQuery, weightOf } from '../rows/token-query.ts';
import { type Connections, PLAN_BY_ORDER, type Run } from './connections.ts';
import { PRESENTED_COLUMNS, SCANNED_COLUMNS, toPresentedToken, toScannedToken } from './decode-token.ts';
import { type Fragment, toBound } from './fragment.ts';
import type { Row } from './sql-client.ts';
import { planScan, planTokens, planWalk, readWeights, type Weights, weigh } from './token-plan.ts';
import { uuidKey } from './uuid-text.ts';

/** The number of columns of a walk before those of the token. */
const WALK_WIDTH = 3;

const send = (run: Run, fragment: Fragment | undefined) => fragment && run(...toBound(fragment));

/** Resolves to the weights for choosing the start; undefined if the tenant does not exist, or has no visible set. */
async function readStart(run: Run, filter: TokenFilter, query: TokenQuery): Promise<Weights | undefined> {
  const weighing = weigh(uuidKey(filter.tenant_id), query, filter.visible);
  const [, [row]] = await Promise.all([run(PLAN_BY_ORDER), run(...toBound(weighing))]);
  const weights = row && readWeights(row);
  return weights?.visible.length === 0 ? undefined : weights;
}

/** Returns the number of matches; undefined if too many tokens have expired to subtract them. */
function totalOf([row = []]: readonly Row[]): number | undefined {
  const [total, expired] = row.map(storedNumber);
  return expired !== undefined && expired <= MAX_TOTAL ? total : undefined;
}

/** Reads the rows of a walk that examined at most `limit` tokens. */
function sliceOf(
  rows: readonly Row[],
  limit: number,
): Omit<WalkSlice, 'records'> & { readonly wanted: readonly Row[] } {
  const last = rows.at(-1);
  return {
    found: rows.filter(([, , isFound]) => isFound === true).length,
    wanted: rows.map((row) => row.slice(WALK_WIDTH)).filter(([id]) => id !== null),
    next:
      last === undefined || rows.length < limit
        ? undefined
        : { created_at: storedNumber(last[0]), id: storedText(last[1]) },
  };
}

/**
 * Returns the functions that list tokens. A list reads one snapshot in two round trips: the first chooses the start,
 * the second reads the rows.
 */
export function findTokensMethods({ readSnapshot }: Pick<Connections, 'readSnapshot'>) {
  return {
    async findTokens(filter, page, now) {
      const query = toQuery(filter);
      if (query === undefined) return { records: [], total: 0 };
      return readSnapshot(async (run) => {
        const weights = await readStart(run, filter, query);
        if (weights === undefined) return { records: [], total: 0 };
        const plan = planTokens(weights, query, page, now);
        const [rows, totals] = await Promise.all([page.limit === 0 ? [] : send(run, plan.list), send(run, plan.total)]);
        const total = totals && totalOf(totals);
        const isBeyond = total !== undefined && total <= Math.min(page.offset, MAX_TOTAL);
        return {
          records: isBeyond ? [] : rows?.map((found) => toPresentedToken(filter.tenant_id, found)),
          total,
        };
      });
    },

    async walkTokens(filter, walk, now) {
      const query = toQuery(filter);
      if (query === undefined) return { found: 0, records: [] };
      return readSnapshot(async (run) => {
        const weights = await readStart(run, filter, query);
        if (weights === undefined) return { found: 0, records: [] };
        const limit = Math.ceil(walk.limit / weightOf(query));
        const plan = planWalk(weights, query, { ...walk, limit }, now, PRESENTED_COLUMNS);
        const { found, wanted, next } = sliceOf(await run(...toBound(plan)), limit);
        return { found, records: wanted.map((token) => toPresentedToken(filter.tenant_id, token)), next };
      });
    },

    async scanTokens(filter, { after, limit }, now) {
      const query = toQuery(filter);
      if (query === undefined) return { records: [] };
      return readSnapshot(async (run) => {
        const weights = await readStart(run, filter, { all: [] });
        if (weights === undefined) return { records: [] };
        const slice = { after, limit, skip: 0, take: limit };
        const plan = planScan(weights, query, slice, now, SCANNED_COLUMNS);
        const { wanted, next } = sliceOf(await run(...toBound(plan)), limit);
        return { records: wanted.map((token) => toScannedToken(filter.tenant_id, token)), next };
      });
    },
  } satisfies Partial<Store>;
}
