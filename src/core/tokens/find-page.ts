import { MAX_TOTAL } from '../../contract/page.ts';
import type { TokenFacts } from '../access/grants.ts';
import type { Context } from '../handler.ts';
import type { Instant, PageRequest, PresentedToken, TenantKeyring, TokenFilter } from '../ports.ts';
import type { FoundPage, Scan, ScannedToken, ScanPosition, ScanSlice, Walk } from '../scan-ports.ts';
import { type Steps, settled } from '../steps.ts';
import type { Work } from '../work.ts';
import { unpackClear } from './clear-columns.ts';
import { openPresented } from './token-codec.ts';

/** The number of tokens that a scan opens in one tick of the event loop. */
const SCANNED_AT_ONCE = 200;
/** The number of tokens that a walk examines in its first tick, and in each later tick. */
const FIRST_WALKED = 100;
const WALKED_AT_ONCE = 1_000;
/** The duration of the slices after which a page by cursor may be short, in milliseconds. */
const SHORT_PAGE_MS = 1_000;

/** The tokens that a query asks for and that the rules allow. */
export interface Sought {
  readonly filter: TokenFilter;
  readonly now: Instant;
  readonly keyring: TenantKeyring;
  /** Whether the filter finds exactly these tokens. Otherwise each token found is opened and `reaches` decides. */
  readonly isExact: boolean;
  readonly reaches: (token: TokenFacts) => boolean;
  readonly work: Pick<Work, 'own' | 'still' | 'spent'>;
}

interface Page {
  readonly records: readonly PresentedToken[];
  readonly total: number;
}

/**
 * Returns the records of a page by number and the total, counting at most `most` + 1 tokens. If the store cannot
 * find the page at once, reads the tokens up to the page in slices, so that other calls wait for one slice only.
 */
export function* findPage(sought: Sought, request: PageRequest, context: Context, most = MAX_TOTAL): Steps<Page> {
  const { filter, now, isExact } = sought;
  if (!isExact) return yield* settled(findGoverned(sought, request, context, most));
  const reads = context.ticks.now?.reads ?? context.store;
  const found = yield* settled(reads.findTokens(filter, request, now));
  const { records, total } = found;
  if (records !== undefined && total !== undefined) return { records, total };
  return yield* settled(walkToPage(found, sought, request, context, most));
}

async function walkToPage(
  { records: found, total }: FoundPage,
  sought: Sought,
  request: PageRequest,
  context: Context,
  most: number,
): Promise<Page> {
  const records = [...(found ?? [])];
  let counted = 0;
  let skip = request.offset;
  for await (const slice of walk(sought, {}, context, () => ({
    skip,
    take: found === undefined ? request.limit - records.length : 0,
  }))) {
    records.push(...slice.records);
    counted += slice.found;
    skip = Math.max(0, skip - slice.found);
    const isFull = found !== undefined || records.length === request.limit;
    if (isFull && (total !== undefined || counted > most)) break;
  }
  return { records, total: total ?? counted };
}

/**
 * Resolves to the `limit` tokens after a position, in an order. `next` is the position of the last token if more tokens follow.
 * Returns a shorter page when it took a second to find: `next` is then the position up to which tokens were examined.
 */
export async function findAfter(sought: Sought, { after, order, limit }: Scan, context: Context) {
  // Find one more token, to learn whether another page follows.
  const wanted = limit + 1;
  const isLong = () => sought.work.spent > SHORT_PAGE_MS;
  if (sought.isExact) {
    const records: PresentedToken[] = [];
    for await (const slice of walk(sought, { after, order }, context, () => ({
      skip: 0,
      take: wanted - records.length,
    }))) {
      records.push(...slice.records);
      if (records.length === wanted) break;
      if (slice.next !== undefined && isLong()) return { records, next: slice.next };
    }
    return { records: records.slice(0, limit), next: nextOf(records, limit) };
  }
  const found: ScannedToken[] = [];
  let short: ScanPosition | undefined;
  for await (const { records, next } of reachable(sought, { after, order }, context)) {
    found.push(...records);
    if (found.length >= wanted) break;
    if (next !== undefined && isLong()) {
      short = next;
      break;
    }
  }
  // A token that was deleted since then shortens the page, but must not end the list.
  const ids = found.slice(0, limit).map(({ id }) => id);
  return { records: await readAll(sought, ids, context), next: short ?? nextOf(found, limit) };
}

function nextOf(found: readonly ScannedToken[], limit: number): ScanPosition | undefined {
  const last = found.length > limit ? found[limit - 1] : undefined;
  return last && positionOf(last);
}

function positionOf({ id, clear }: ScannedToken): ScanPosition {
  return { id, created_at: unpackClear(clear).created_at };
}

/** Where a walk starts, and in which order. */
type From = Partial<Pick<Scan, 'after' | 'order'>>;
type Wanted = Pick<Walk, 'skip' | 'take'>;

async function* walk({ filter, now, work }: Sought, from: From, { store }: Context, wanted: () => Wanted) {
  let { after } = from;
  let limit = FIRST_WALKED;
  do {
    await work.own();
    const slice = await store.walkTokens(filter, { ...from, after, limit, ...wanted() }, now);
    yield slice;
    after = slice.next;
    limit = WALKED_AT_ONCE;
  } while (after !== undefined);
}

/** Resolves to a page when the blind indexes cannot decide the rules exactly. */
async function findGoverned(
  sought: Sought,
  { offset, limit }: PageRequest,
  context: Context,
  most: number,
): Promise<Page> {
  const page: string[] = [];
  let total = 0;
  for await (const { records } of reachable(sought, {}, context)) {
    const first = Math.max(0, offset - total);
    page.push(...records.slice(first, first + limit - page.length).map(({ id }) => id));
    total += records.length;
    if (total > most && page.length === limit) break;
  }
  return { records: await readAll(sought, page, context), total };
}

/**
 * Yields the tokens after `from` that the rules allow, in slices. Opens each candidate, long ones in slices of their
 * own. Reads all tokens of the tenant, unless the indexes leave only a few candidates.
 */
async function* reachable(
  { filter, now, keyring, reaches, work }: Sought,
  from: From,
  { store }: Context,
): AsyncGenerator<ScanSlice> {
  const { total = SCANNED_AT_ONCE + 1 } = await store.findTokens(filter, { offset: 0, limit: 0 }, now);
  const isFew = from.after === undefined && total <= SCANNED_AT_ONCE;
  let { after } = from;
  do {
    await work.own();
    const slice = { ...from, after, limit: SCANNED_AT_ONCE };
    const { records, next }: ScanSlice = isFew
      ? await store.walkTokens(filter, { ...slice, skip: 0, take: total }, now)
      : await store.scanTokens(filter, slice, now);
    const again = work.still();
    if (again !== undefined) await again;
    let allowed: ScannedToken[] = [];
    for (const [at, record] of records.entries()) {
      const { id, tenant_id } = record;
      let whole: ScannedToken | undefined = record;
      if (record.presented.length === 0) {
        const previous = records[at - 1];
        if (previous !== undefined && work.spent > SHORT_PAGE_MS) {
          yield { records: allowed, next: positionOf(previous) };
          allowed = [];
        }
        await work.own();
        whole = await store.findPresentedToken(tenant_id, id, now);
        const once = work.still();
        if (once !== undefined) await once;
      }
      if (whole && reaches({ id, containers: openPresented(keyring, id, whole).details.containers }))
        allowed.push(record);
    }
    yield { records: allowed, next };
    after = next;
  } while (after !== undefined);
}

/** Resolves to the tokens with these ids that still exist, in the order of the ids. */
async function readAll({ filter, now }: Sought, ids: readonly string[], { store }: Context) {
  const page = { offset: 0, limit: ids.length };
  const { records = [] } = await store.findTokens({ ...filter, all: [{ id_in: ids }] }, page, now);
  const places = new Map(ids.map((id, place) => [id, place]));
  return records.toSorted((a, b) => (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0));
}
