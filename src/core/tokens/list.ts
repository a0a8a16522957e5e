import { MAX_TOTAL, PAGE_QUERY } from '../../contract/page.ts';
import type { Transform } from '../../contract/permissions.ts';
import type { ListTokensQuery, SearchTokens, TokenFilters } from '../../contract/token.ts';
import { governingTransform, type TokenFacts } from '../access/governing-transform.ts';
import { visibility } from '../access/visibility.ts';
import type { Caller, Handler, HandlerNow, World } from '../handler.ts';
import { createLines } from '../in-line.ts';
import type { JsonText } from '../json/stringify.ts';
import { ownTurn } from '../own-turn.ts';
import type { Instant, PresentedToken, TenantKeyring, TokenCondition } from '../ports.ts';
import { invalid } from '../problem.ts';
import { pageOf, pageRequest } from '../request/page.ts';
import type { ScanPosition } from '../scan-ports.ts';
import { parseQuery } from '../search/parse-query.ts';
import { searchCondition } from '../search/search-condition.ts';
import { isAtOrBelow, normalizeContainers } from './containers.ts';
import { findAfter, findPage, type Sought } from './find-page.ts';
import { foldCase, indexed, metadataText } from './indexes.ts';
import { presentToken } from './present-token.ts';
import type { PresentedDetails } from './token-codec.ts';
import { mayBeId } from './token-id.ts';

/** The maximum bytes of data that lists open in one turn. */
const OPENED_AT_ONCE = 1024 * 1024;

const DEFAULT_SIZE = PAGE_QUERY.size.default;

/** The content of a cursor: `created_at` in milliseconds in base 36, a dot, and the id. */
const CURSOR = /^([0-9a-z]{1,10})\.(.*)$/s;

const inLine = createLines();
/** The bytes that lists have opened in this turn of the event loop. */
let opened = 0;

/** The parameters of a list or a search. */
interface Asked {
  readonly filters: TokenFilters;
  readonly query?: string;
  readonly transform?: Transform | undefined;
}

type Numbered = Pick<ListTokensQuery, 'page' | 'size'>;
interface Behind {
  readonly start?: string;
  readonly size?: number;
}

/**
 * List Tokens (§4.1): values of one filter are alternatives, and all filters must match. The caller's visibility is
 * part of the query.
 */
export const listTokens: Handler<'listTokens'> = ({ query }, caller, world) =>
  numberedPage({ filters: query, transform: query.transform }, query, caller, world);

/** List Tokens by cursor: returns the page after a position. */
export const listTokensByCursor: Handler<'listTokensByCursor'> = ({ query }, caller, world) =>
  pageBehind({ filters: query, transform: query.transform }, query, caller, world);

export const searchTokens: Handler<'searchTokens'> = ({ body }, caller, world) =>
  numberedPage(searched(body), body, caller, world);

export const searchTokensByCursor: Handler<'searchTokensByCursor'> = ({ body }, caller, world) =>
  pageBehind(searched(body), body, caller, world);

const searched = ({ query, transform }: Omit<SearchTokens, 'page' | 'size'>) => ({ filters: {}, query, transform });

/** Prepares one page at a time for each application, even on several connections, because a page may have 16 MiB. */
const inTurn = <T>(caller: Caller, make: () => Promise<T>): Promise<T> =>
  inLine(caller.application.record.id, async () => {
    if (opened > OPENED_AT_ONCE) await nextStep();
    return make();
  });

const numberedPage = (asked: Asked, numbered: Numbered, caller: Caller, world: World) =>
  inTurn(caller, async () => {
    const sought = soughtBy(asked, caller, world.clock.cutoff());
    const { records, total } = await findPage(sought, pageRequest(numbered), world);
    return pageWith(await show(records, asked, caller, world), total, sought, numbered);
  });

/**
 * Returns the list envelope. A total above `MAX_TOTAL` is reported as capped, except for the exact number of all tokens
 * of a tenant.
 */
function pageWith(tokens: readonly JsonText[], total: number, { filter, isExact }: Sought, numbered: Numbered) {
  const isWhole = isExact && filter.all.length === 0 && filter.visible === undefined;
  const isCapped = total > MAX_TOTAL && !isWhole;
  return pageOf(numbered, isCapped ? MAX_TOTAL : total, tokens, { isCapped });
}

const pageBehind = (asked: Asked, { start, size = DEFAULT_SIZE }: Behind, caller: Caller, world: World) =>
  inTurn(caller, async () => {
    const sought = soughtBy(asked, caller, world.clock.cutoff());
    const after = start === undefined ? undefined : readCursor(start);
    const { records, next } = await findAfter(sought, { after, limit: size }, world);
    const data = await show(records, asked, caller, world);
    return { pagination: { page_size: size, next: next && cursorOf(next) }, data };
  });

/** Returns the cursor of the page after a token, opaque to clients. `readCursor` returns the token's position. */
function cursorOf({ created_at, id }: ScanPosition): string {
  return Buffer.from(`${created_at.toString(36)}.${id}`).toString('base64url');
}

/** Returns the position in a cursor. Throws `invalid_request` for a text that is not a cursor. */
function readCursor(start: string): ScanPosition {
  const [, created = '', id = ''] = CURSOR.exec(Buffer.from(start, 'base64url').toString()) ?? [];
  if (created === '' || !mayBeId(id)) throw invalid('start', 'must be the `next` of an earlier page');
  return { created_at: Number.parseInt(created, 36), id };
}

/** Lists tokens within a turn. Leaves a page to `listTokens` if the page needs a walk or exceeds the turn's budget. */
export const listTokensNow: HandlerNow<'listTokens'> = ({ query }, caller, world, turn) => {
  const { cutoff } = turn;
  const asked = { filters: query, transform: query.transform };
  const sought = soughtBy(asked, caller, cutoff);
  if (!sought.isExact || turn.room <= 0) return undefined;
  const { records, total } = turn.reads.findTokens(sought.filter, pageRequest(query), cutoff);
  if (records === undefined || total === undefined) return undefined;
  for (const { presented, full } of records) turn.room -= presented.length + full.length;
  if (turn.room < 0) return undefined;
  const page = createPage(asked, caller, world);
  for (const record of records) page.add(record);
  return pageWith(page.end(records), total, sought, query);
};

async function show(records: readonly PresentedToken[], asked: Asked, caller: Caller, world: World) {
  const page = createPage(asked, caller, world);
  let size = 0;
  for (const record of records) {
    const bytes = record.presented.length + record.full.length;
    size += bytes;
    opened += bytes;
    if (opened > OPENED_AT_ONCE) await nextStep();
    page.add(record);
  }
  // Count the page twice, because printing and sending it costs as much as opening it.
  opened += size;
  return page.end(records);
}

function soughtBy(asked: Asked, { grants, tenant }: Caller, now: Instant): Sought {
  const { keyring } = tenant;
  const { lists, exact } = visibility(grants, 'token:read', keyring);
  const all = conditionsOf(asked, keyring);
  if (asked.query !== undefined) all.push(...searchable(grants, keyring));
  const filter = { tenant_id: tenant.record.id, all, visible: lists };
  const reaches = (token: TokenFacts) => governingTransform(grants, 'token:read', token) !== undefined;
  return { filter, now, keyring, isExact: exact, reaches };
}

/**
 * Returns the condition for tokens with `token:search`, which a rule grants for its own container. Only private
 * applications hold this permission, so blind indexes find exactly these tokens.
 */
function searchable(grants: Caller['grants'], keyring: TenantKeyring): readonly TokenCondition[] {
  const { lists } = visibility(grants, 'token:search', keyring);
  return lists === undefined ? [] : [{ some: lists.map((every) => ({ every })) }];
}

function createPage({ filters, transform }: Asked, { tenant, grants, trail }: Caller, world: World) {
  const matches = detailsFilter(filters);
  const ids: string[] = [];
  const tokens: JsonText[] = [];
  let revealed = false;

  return {
    add(record: PresentedToken): void {
      const presented = presentToken(tenant.keyring, grants, record.id, record, transform);
      // A blind index is a hash of only 16 bytes, so compare the opened values, too.
      if (!presented || !matches(presented.details)) return;
      revealed ||= presented.transform === 'reveal';
      ids.push(record.id);
      tokens.push(presented.text);
    },
    end(records: readonly PresentedToken[]): readonly JsonText[] {
      trail.shown(ids, revealed);
      world.activity.note(records);
      return tokens;
    },
  };
}

async function nextStep(): Promise<void> {
  await ownTurn();
  opened = 0;
}

function conditionsOf({ filters, query }: Asked, keyring: TenantKeyring): TokenCondition[] {
  const { id, type, container, fingerprint, metadata } = filters;
  const conditions: TokenCondition[] = [];
  if (id) conditions.push({ id_in: id });
  if (type) conditions.push({ type_in: type });
  if (container && !container.includes('/')) {
    conditions.push(anyOf(normalizeContainers(container).map((path) => indexed(keyring, 'container_prefix', path))));
  }
  if (fingerprint) conditions.push(anyOf(fingerprint.map((value) => indexed(keyring, 'fingerprint', value))));
  for (const [key, value] of Object.entries(metadata ?? {})) {
    conditions.push(indexed(keyring, 'metadata', metadataText(key, value)));
  }
  if (query !== undefined) conditions.push(...searchCondition(parseQuery(query), keyring));
  return conditions;
}

const anyOf = (conditions: readonly { readonly index_in: readonly Uint8Array[] }[]): TokenCondition => ({
  index_in: conditions.flatMap(({ index_in }) => index_in),
});

/**
 * Returns a function that checks whether the opened values of a token match the filters that blind indexes answered.
 */
function detailsFilter({ container, fingerprint, metadata }: TokenFilters): (details: PresentedDetails) => boolean {
  const wanted = Object.entries(metadata ?? {});
  const paths = container && normalizeContainers(container);
  return (details) =>
    (paths === undefined || details.containers.some((own) => paths.some((path) => isAtOrBelow(own, path)))) &&
    (fingerprint === undefined || fingerprint.includes(details.fingerprint)) &&
    hasMetadata(details.metadata?.text, wanted);
}

function hasMetadata(text = '{}', wanted: readonly (readonly [key: string, value: string])[]): boolean {
  if (wanted.length === 0) return true;
  // sealToken sealed this text, so its values are strings. `JSON.parse` is faster than the vault's parser and reads
  // strings without loss.
  const found = JSON.parse(text) as Readonly<Record<string, string>>;
  return wanted.every(([key, value]) => {
    const own = Object.hasOwn(found, key) ? found[key] : undefined;
    return own !== undefined && (own === value || foldCase(own) === foldCase(value));
  });
}
