import type { ListTokensQuery } from '../../contract/token.ts';
import { governingTransform } from '../access/governing-transform.ts';
import { visibility } from '../access/visibility.ts';
import type { Caller, Handler, HandlerNow, World } from '../handler.ts';
import { createLines } from '../in-line.ts';
import type { JsonText } from '../json/stringify.ts';
import { ownTurn } from '../own-turn.ts';
import type {
  Instant,
  PageOf,
  PageRequest,
  PresentedToken,
  TenantKeyring,
  TokenCondition,
  TokenFilter,
} from '../ports.ts';
import { pageOf, pageRequest } from '../request/page.ts';
import type { ScanPosition, ScanSlice } from '../scan-ports.ts';
import { presentedColumns } from './clear-columns.ts';
import { foldCase, indexed, metadataText } from './indexes.ts';
import { presentToken } from './present-token.ts';
import { openPresented } from './token-codec.ts';

/** Tokens that a scan looks at in one turn of the event loop. */
const SCANNED_AT_ONCE = 200;
/** Bytes of data that lists open in one turn. */
const OPENED_AT_ONCE = 1024 * 1024;
/** How long a page waits for others of its application. */
const MAX_WAIT_MS = 5_000;

const inLine = createLines(MAX_WAIT_MS);
/** Bytes that lists have opened in this turn of the event loop. */
let opened = 0;

/**
 * List Tokens (§4.1): members of one kind of filter are ORed, kinds are ANDed, and the caller's reach is part of the query.
 * An application has one page in the making, however many connections it asks on: a page may be of 16 MiB.
 */
export const listTokens: Handler<'listTokens'> = (request, caller, world) =>
  inLine(caller.application.record.id, () => makePage(request, caller, world));

const makePage: Handler<'listTokens'> = async ({ query }, caller, world) => {
  if (opened > OPENED_AT_ONCE) await nextStep();
  const now = world.clock.now();
  const { filter, isExact } = filterOf(query, caller);
  const request = pageRequest(query);
  const { records, total } = isExact
    ? await world.store.findTokens(filter, request, now)
    : await findGoverned(filter, request, now, caller, world);
  const page = createPage(query, caller, world);
  let size = 0;
  for (const record of records) {
    const bytes = record.presented.length + record.full.length;
    size += bytes;
    opened += bytes;
    if (opened > OPENED_AT_ONCE) await nextStep();
    page.add(record);
  }
  // Turning the page into text and sending it costs as much again.
  opened += size;
  return page.end(records, total, now);
};

/** Leaves a page to `listTokens` that needs a scan, or that this turn has no room for. */
export const listTokensNow: HandlerNow<'listTokens'> = ({ query }, caller, world, turn) => {
  const { filter, isExact } = filterOf(query, caller);
  if (!isExact || turn.room <= 0) return undefined;
  const now = world.clock.now();
  const { records, total } = turn.reads.findTokens(filter, pageRequest(query), now);
  for (const { presented, full } of records) turn.room -= presented.length + full.length;
  if (turn.room < 0) return undefined;
  const page = createPage(query, caller, world);
  for (const record of records) page.add(record);
  return page.end(records, total, now);
};

function filterOf(query: ListTokensQuery, { grants, tenant }: Caller) {
  const { lists, exact } = visibility(grants, 'token:read', tenant.keyring);
  const filter = { tenant_id: tenant.record.id, all: conditionsOf(query, tenant.keyring), visible: lists };
  return { filter, isExact: exact };
}

function createPage(query: ListTokensQuery, { tenant, grants, trail }: Caller, world: World) {
  const wanted = Object.entries(query.metadata ?? {});
  const ids: string[] = [];
  const tokens: JsonText[] = [];
  let revealed = false;

  return {
    add(record: PresentedToken): void {
      const presented = presentToken(tenant.keyring, grants, record.id, record);
      // A blind index is 16 bytes of a hash: the opened values have the last word.
      if (!presented || !hasMetadata(presented.details.metadata?.text, wanted)) return;
      revealed ||= presented.transform === 'reveal';
      ids.push(record.id);
      tokens.push(presented.text);
    },
    end(records: readonly PresentedToken[], total: number, now: Instant) {
      trail.shown(ids, revealed);
      world.activity.note(records, now);
      return pageOf(query, total, tokens);
    },
  };
}

async function nextStep(): Promise<void> {
  await ownTurn();
  opened = 0;
}

/**
 * Finds a page for rules that no blind index can find, by opening each candidate. Reads all tokens of the tenant in slices,
 * unless the indexes leave few.
 */
async function findGoverned(
  filter: TokenFilter,
  { offset, limit }: PageRequest,
  now: Instant,
  caller: Caller,
  world: World,
): Promise<PageOf<PresentedToken>> {
  const { store } = world;
  const { keyring } = caller.tenant;
  const { total: candidates } = await store.findTokens(filter, { offset: 0, limit: 0 }, now);
  const few = candidates <= SCANNED_AT_ONCE && { offset: 0, limit: candidates };
  const page: string[] = [];
  let total = 0;
  let after: ScanPosition | undefined;
  do {
    await ownTurn();
    const { records, next }: ScanSlice = few
      ? { records: (await store.findTokens(filter, few, now)).records }
      : await store.scanTokens(filter, { after, limit: SCANNED_AT_ONCE }, now);
    for (const record of records) {
      const { containers } = openPresented(keyring, record.id, record, presentedColumns(record)).details;
      if (!governingTransform(caller.grants, 'token:read', { id: record.id, containers })) continue;
      if (total >= offset && page.length < limit) page.push(record.id);
      total++;
    }
    after = next;
  } while (after !== undefined);
  const found = await store.findTokens({ ...filter, all: [{ id_in: page }] }, { offset: 0, limit: page.length }, now);
  return { records: found.records, total };
}

function conditionsOf({ id, type, metadata }: ListTokensQuery, keyring: TenantKeyring): TokenCondition[] {
  const conditions: TokenCondition[] = [];
  if (id) conditions.push({ id_in: id });
  if (type) conditions.push({ type_in: type });
  for (const [key, value] of Object.entries(metadata ?? {})) {
    conditions.push(indexed(keyring, 'metadata', metadataText(key, value)));
  }
  return conditions;
}

function hasMetadata(text = '{}', wanted: readonly (readonly [key: string, value: string])[]): boolean {
  if (wanted.length === 0) return true;
  // Sealed by sealToken: these are strings, of which the engine's own parser, which is faster, loses nothing.
  const found = JSON.parse(text) as Readonly<Record<string, string>>;
  return wanted.every(([key, value]) => {
    const own = Object.hasOwn(found, key) ? found[key] : undefined;
    return own !== undefined && (own === value || foldCase(own) === foldCase(value));
  });
}
