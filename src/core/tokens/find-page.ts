import { MAX_TOTAL } from '../../contract/page.ts';
import { governingTransform } from '../access/governing-transform.ts';
import type { Caller, World } from '../handler.ts';
import { ownTurn } from '../own-turn.ts';
import type { Instant, PageRequest, PresentedToken, TokenFilter } from '../ports.ts';
import type { ScannedToken, ScanPosition, ScanSlice } from '../scan-ports.ts';
import { presentedColumns, unpackClear } from './clear-columns.ts';
import { openPresented } from './token-codec.ts';

/** Tokens that a scan opens in one turn of the event loop. */
const SCANNED_AT_ONCE = 200;
/** Tokens that a walk looks at in its first turn, and in each later one. */
const FIRST_WALKED = 100;
const WALKED_AT_ONCE = 1_000;

/** Tokens that a caller may read and that a query asks for. */
export interface Sought {
  readonly filter: TokenFilter;
  /** Whether the filter finds exactly those. Otherwise each token is opened and compared with the caller's rules. */
  readonly isExact: boolean;
}

/** Tokens of a page by number. */
interface NumberedPage {
  readonly records: readonly PresentedToken[];
  /** Above `MAX_TOTAL` the exact number is unknown. */
  readonly total: number;
}

/** Finds a page by number. A page that the store cannot find at once is walked to, so that other calls wait for one slice only. */
export async function findPage(
  { filter, isExact }: Sought,
  request: PageRequest,
  now: Instant,
  caller: Caller,
  world: World,
): Promise<NumberedPage> {
  if (!isExact) return findGoverned(filter, request, now, caller, world);
  const { records: found, total } = await world.store.findTokens(filter, request, now);
  if (found !== undefined && total !== undefined) return { records: found, total };
  const records = [...(found ?? [])];
  let counted = 0;
  let skip = request.offset;
  for await (const slice of walk(world, filter, undefined, now, () => ({
    skip,
    take: found === undefined ? request.limit - records.length : 0,
  }))) {
    records.push(...slice.records);
    counted += slice.found;
    skip = Math.max(0, skip - slice.found);
    const isFull = found !== undefined || records.length === request.limit;
    if (isFull && (total !== undefined || counted > MAX_TOTAL)) break;
  }
  return { records, total: total ?? counted };
}

/** Finds the `limit` tokens behind a position; `next` is the place of the last of them when there are more. */
export async function findBehind(
  { filter, isExact }: Sought,
  { after, limit }: { readonly after: ScanPosition | undefined; readonly limit: number },
  now: Instant,
  caller: Caller,
  world: World,
): Promise<{ readonly records: readonly PresentedToken[]; readonly next: ScanPosition | undefined }> {
  // One more shows whether another page follows.
  const wanted = limit + 1;
  if (isExact) {
    const records: PresentedToken[] = [];
    for await (const slice of walk(world, filter, after, now, () => ({ skip: 0, take: wanted - records.length }))) {
      records.push(...slice.records);
      if (records.length === wanted) break;
    }
    return { records: records.slice(0, limit), next: nextOf(records, limit) };
  }
  const found: ScannedToken[] = [];
  for await (const record of reachable(filter, after, now, caller, world)) {
    found.push(record);
    if (found.length === wanted) break;
  }
  // A token that was deleted meanwhile shortens the page, and must not end the walk.
  const ids = found.slice(0, limit).map(({ id }) => id);
  return { records: await readAll(filter, ids, now, world), next: nextOf(found, limit) };
}

/** Returns the place of the last token of the page when there are more. */
function nextOf(found: readonly ScannedToken[], limit: number): ScanPosition | undefined {
  const last = found.length > limit ? found[limit - 1] : undefined;
  return last && { id: last.id, created_at: unpackClear(last.clear).created_at };
}

async function* walk(
  { store }: World,
  filter: TokenFilter,
  from: ScanPosition | undefined,
  now: Instant,
  wanted: () => { readonly skip: number; readonly take: number },
) {
  let after = from;
  let limit = FIRST_WALKED;
  do {
    await ownTurn();
    const slice = await store.walkTokens(filter, { after, limit, ...wanted() }, now);
    yield slice;
    after = slice.next;
    limit = WALKED_AT_ONCE;
  } while (after !== undefined);
}

/** Finds a page for rules that no blind index can find. */
async function findGoverned(
  filter: TokenFilter,
  { offset, limit }: PageRequest,
  now: Instant,
  caller: Caller,
  world: World,
): Promise<NumberedPage> {
  const page: string[] = [];
  let total = 0;
  for await (const { id } of reachable(filter, undefined, now, caller, world)) {
    if (total >= offset && page.length < limit) page.push(id);
    total += 1;
    if (total > MAX_TOTAL && page.length === limit) break;
  }
  return { records: await readAll(filter, page, now, world), total };
}

/**
 * Yields the tokens behind `from` that the caller's rules reach, by opening each candidate. Reads all tokens of the tenant in
 * slices, unless the indexes leave few.
 */
async function* reachable(
  filter: TokenFilter,
  from: ScanPosition | undefined,
  now: Instant,
  { grants, tenant }: Caller,
  { store }: World,
): AsyncGenerator<ScannedToken> {
  const { total = SCANNED_AT_ONCE + 1 } = await store.findTokens(filter, { offset: 0, limit: 0 }, now);
  const isFew = from === undefined && total <= SCANNED_AT_ONCE;
  let after = from;
  do {
    await ownTurn();
    const slice = { after, limit: SCANNED_AT_ONCE };
    const { records, next }: ScanSlice = isFew
      ? await store.walkTokens(filter, { ...slice, skip: 0, take: total }, now)
      : await store.scanTokens(filter, slice, now);
    for (const record of records) {
      const { containers } = openPresented(tenant.keyring, record.id, record, presentedColumns(record)).details;
      if (governingTransform(grants, 'token:read', { id: record.id, containers })) yield record;
    }
    after = next;
  } while (after !== undefined);
}

async function readAll(filter: TokenFilter, ids: readonly string[], now: Instant, { store }: World) {
  const page = { offset: 0, limit: ids.length };
  const { records = [] } = await store.findTokens({ ...filter, all: [{ id_in: ids }] }, page, now);
  return records;
}
