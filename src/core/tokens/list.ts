import { type ListOrder, MAX_TOTAL } from '../../contract/page.ts';
import type { Transform } from '../../contract/permissions.ts';
import type { ListTokensQuery, SearchTokens, TokenFilters } from '../../contract/token.ts';
import { governingTransform, type TokenFacts } from '../access/grants.ts';
import { visibility } from '../access/visibility.ts';
import { isSameBytes } from '../bytes.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import type { JsonText } from '../json/stringify.ts';
import type { Instant, PresentedToken, TenantKeyring, TokenCondition } from '../ports.ts';
import { decoded, invalid, Problem } from '../problem.ts';
import { DEFAULT_SIZE, type PageQuery, pageOf, pageRequest, pageTooLarge } from '../request/page.ts';
import type { ScanPosition, TimeRange } from '../scan-ports.ts';
import { type MatchField, parseQuery, type Query, QueryError } from '../search/parse-query.ts';
import { type OpenedToken, queryTest, searchCondition } from '../search/query-test.ts';
import { type Steps, settled } from '../steps.ts';
import type { UsedToken } from './activity.ts';
import { presentedColumns } from './clear-columns.ts';
import { findAfter, findPage, type Sought } from './find-page.ts';
import { blindName, sealedIndexes } from './indexes.ts';
import { presentToken, sealedBytes } from './present-token.ts';
import { openPresented, parseDetails } from './token-codec.ts';

/** The sealed text of a cursor: `-` if the oldest come first, `created_at` in milliseconds in base 36, a dot, and the id. */
const CURSOR = /^(-?)([0-9a-z]{1,10})\.(.*)$/s;

/** The parameters of a list or a search. */
interface Asked {
  readonly query: Query | undefined;
  /** Whether the caller also needs `token:search` on each token. */
  readonly isSearch: boolean;
  readonly transform?: Transform | undefined;
}

interface Behind {
  readonly order?: ListOrder;
  readonly start?: string;
  readonly size?: number;
}

/**
 * List Tokens (§4.1): values of one filter are alternatives, and all filters must match. The caller's visibility is
 * part of the query.
 */
export const listTokens: Handler<'listTokens'> = ({ query }, caller, context) =>
  numberedPage(filtered(query), query, caller, context);

/** List Tokens by cursor: returns the page after a position. */
export const listTokensByCursor: Handler<'listTokensByCursor'> = ({ query }, caller, context) =>
  pageBehind(filtered(query), query, caller, context);

export const searchTokens: Handler<'searchTokens'> = ({ body }, caller, context) =>
  numberedPage(searched(body), body, caller, context);

export const searchTokensByCursor: Handler<'searchTokensByCursor'> = ({ body }, caller, context) =>
  pageBehind(searched(body), body, caller, context);

const filtered = (filters: TokenFilters & Pick<ListTokensQuery, 'transform'>): Asked => {
  return { query: filterQuery(filters), isSearch: false, transform: filters.transform };
};

const searched = ({ query, transform }: Omit<SearchTokens, 'page' | 'size'>): Asked => {
  return { query: parseSearch(query), isSearch: true, transform };
};

/** Returns a search query. Throws `invalid_request`. */
export function parseSearch(query: string): Query {
  try {
    return parseQuery(query);
  } catch (error) {
    throw error instanceof QueryError ? invalid('query', error.message) : error;
  }
}

function* numberedPage(asked: Asked, numbered: PageQuery, caller: Caller, context: Context) {
  yield* settled(caller.work.next());
  const sought = soughtBy(asked, caller, context.clock.cutoff());
  const find = () => findPage(sought, pageRequest(numbered), context);
  const { records, total } = yield* readPage(find, caller, context);
  return pageWith(yield* show(records, asked, sought, caller, context), total, sought, numbered);
}

/**
 * Reads a page and counts its bytes for the account. `show` rejects a reply above the size limit before it is complete.
 */
function readPage<Page extends { readonly records: readonly PresentedToken[] }>(
  find: () => Steps<Page>,
  { work }: Caller,
  { limits: { response } }: Context,
): Steps<Page> {
  const bytesOf = ({ records }: Page) =>
    Math.min(
      response,
      records.reduce((sum, record) => sum + sealedBytes(record), 0),
    );
  return work.readHeld(response, find, bytesOf);
}

/**
 * Returns the list envelope. A total above `MAX_TOTAL` is reported as capped, except for the exact number of all tokens
 * of a tenant.
 */
function pageWith(tokens: readonly JsonText[], total: number, { filter, isExact }: Sought, numbered: PageQuery) {
  const isWhole = isExact && filter.all.length === 0 && filter.visible === undefined;
  const isCapped = total > MAX_TOTAL && !isWhole;
  return pageOf(numbered, isCapped ? MAX_TOTAL : total, tokens, { isCapped });
}

function* pageBehind(
  asked: Asked,
  { start, size = DEFAULT_SIZE, ...wanted }: Behind,
  caller: Caller,
  context: Context,
) {
  yield* settled(caller.work.next());
  const sought = soughtBy(asked, caller, context.clock.cutoff());
  const cursor = start === undefined ? undefined : readCursor(start, caller, context);
  const order = wanted.order ?? cursor?.order;
  if (cursor !== undefined && order !== cursor.order) throw invalid('order', 'must be the order of `start`');
  const find = () => settled(findAfter(sought, { after: cursor?.after, order, limit: size }, context));
  const { records, next } = yield* readPage(find, caller, context);
  const data = yield* show(records, asked, sought, caller, context);
  return { pagination: { page_size: size, next: next && cursorOf(next, order, caller, context) }, data };
}

/**
 * Returns the cursor of the page after a token. It is sealed, because the last token that a short page examined may be
 * one that the caller must not see. `readCursor` returns the token's position.
 */
function cursorOf(
  { created_at, id }: ScanPosition,
  order: ListOrder | undefined,
  { tenant }: Caller,
  { keyring }: Context,
): string {
  const text = `${order === 'oldest' ? '-' : ''}${created_at.toString(36)}.${id}`;
  return Buffer.from(keyring.sealCursor(tenant.record.id, text)).toString('base64url');
}

interface Cursor {
  readonly after: ScanPosition;
  readonly order: ListOrder;
}

/** Returns the position and the order in a cursor. Throws `invalid_request` for a text that is not the tenant's cursor. */
function readCursor(start: string, { tenant }: Caller, { keyring }: Context): Cursor {
  const text = decoded(() => keyring.openCursor(tenant.record.id, Buffer.from(start, 'base64url')));
  if (text === undefined) throw invalid('start', 'must be the `next` of an earlier page');
  const [, sign, created = '', id = ''] = CURSOR.exec(text) ?? [];
  return { after: { created_at: Number.parseInt(created, 36), id }, order: sign === '-' ? 'oldest' : 'newest' };
}

function* show(
  records: readonly PresentedToken[],
  asked: Asked,
  sought: Sought,
  caller: Caller,
  context: Context,
): Steps<readonly JsonText[]> {
  const page = createPage(asked, sought, caller, context);
  for (const record of records) {
    yield* settled(caller.work.next(sealedBytes(record)));
    const isWhole = record.presented.length > 0 && (record.full.length > 0 || asked.transform !== undefined);
    const reads = context.ticks.now?.reads ?? context.store;
    const whole = isWhole ? record : yield* settled(reads.findPresentedToken(record.tenant_id, record.id, sought.now));
    if (whole !== undefined) page.add(whole, isSameBytes(whole.clear, record.clear));
  }
  return page.end();
}

function soughtBy({ query, isSearch }: Asked, { grants, tenant, work }: Caller, now: Instant): Sought {
  const { keyring } = tenant;
  const { lists, exact } = visibility(grants, 'token:read', keyring);
  const all = query === undefined ? [] : [...searchCondition(query, keyring)];
  if (isSearch) all.push(...searchable(grants, keyring));
  const filter = { tenant_id: tenant.record.id, all, visible: lists };
  const reaches = (token: TokenFacts) => governingTransform(grants, 'token:read', token) !== undefined;
  return { filter, now, keyring, isExact: exact, reaches, work };
}

/**
 * Returns the condition for tokens with `token:search`, which a rule grants for its own container. Only private
 * applications hold this permission, so blind indexes find exactly these tokens.
 */
function searchable(grants: Caller['grants'], keyring: TenantKeyring): readonly TokenCondition[] {
  const { lists } = visibility(grants, 'token:search', keyring);
  return lists === undefined ? [] : [{ some: lists.map((every) => ({ every })) }];
}

function createPage({ query, isSearch, transform }: Asked, sought: Sought, caller: Caller, context: Context) {
  const { tenant, grants, recorder } = caller;
  const matches = query && queryTest(query, tenant.keyring);
  const shown: UsedToken[] = [];
  const tokens: JsonText[] = [];
  let length = 0;
  let revealed = false;

  function isSearchable({ id, details: { containers } }: Pick<OpenedToken, 'id' | 'details'>): boolean {
    return !isSearch || governingTransform(grants, 'token:search', { id, containers }) !== undefined;
  }

  return {
    /**
     * Adds a token that the store found. Its opened values decide, because indexes can be altered without a key. Throws
     * `integrity_failure` if they contradict the indexes, unless the token has changed since (`isAsFound`).
     */
    add(record: PresentedToken, isAsFound: boolean): void {
      const presented = presentToken(tenant.keyring, grants, record.id, record, transform);
      if (presented === undefined || !isSearchable(presented) || matches?.(presented) === false) {
        if (sought.isExact && isAsFound) requireFound(sought, record);
        return;
      }
      length += presented.text.text.length;
      if (length > context.limits.response) throw pageTooLarge();
      revealed ||= presented.transform === 'reveal';
      // The record would keep its sealed values in memory.
      const { tenant_id, id, active_month } = record;
      shown.push({ tenant_id, id, active_month });
      tokens.push(presented.text);
    },
    end(): readonly JsonText[] {
      recorder.shown(
        shown.map(({ id }) => id),
        revealed,
      );
      context.activity.note(shown);
      return tokens;
    },
  };
}

/** Returns the query for the tokens that match all filters; undefined without filters. */
function filterQuery({ id, type, container, fingerprint, metadata = {} }: TokenFilters): Query | undefined {
  const anyOf = (field: MatchField, values: readonly string[] = [], more: { readonly below?: true } = {}): Query[] => {
    const parts = values.map((value) => ({ kind: 'match', field, value, ...more }) as const);
    return parts.length === 0 ? [] : [{ kind: 'or', parts }];
  };
  const parts: readonly Query[] = [
    ...anyOf('id', id),
    ...anyOf('type', type),
    // Every container is below the root.
    ...(container?.includes('/') ? [] : anyOf('container', container, { below: true })),
    ...anyOf('fingerprint', fingerprint),
    ...Object.entries(metadata).map(([key, value]) => ({ kind: 'match', field: 'metadata', key, value }) as const),
  ];
  return parts.length === 0 ? undefined : { kind: 'and', parts };
}

/**
 * Checks a token that the store found, but that its opened values exclude. Throws `integrity_failure` if the store
 * could not find the token by indexes that agree with its sealed values. Two texts may share a blind index, such as
 * those with different halves of a surrogate pair: then the token is only not shown.
 */
export function requireFound({ filter: { all, visible }, keyring }: Sought, record: PresentedToken): void {
  const { id, clear } = record;
  const columns = presentedColumns(record);
  const { details } = openPresented(keyring, id, record, columns);
  const { type, created_at, expires_at, index_key_id } = columns;
  const blinds = sealedIndexes(keyring, index_key_id, parseDetails(details));

  function meets(condition: TokenCondition): boolean {
    if ('id_in' in condition) return condition.id_in.includes(id);
    if ('id_prefix' in condition) return id.startsWith(condition.id_prefix);
    if ('type_in' in condition) return condition.type_in.includes(type);
    if ('index_in' in condition) return condition.index_in.some((blind) => blinds.has(blindName(blind)));
    if ('created_in' in condition) return isWithin(created_at, condition.created_in);
    if ('expires_in' in condition) return expires_at !== undefined && isWithin(expires_at, condition.expires_in);
    if ('every' in condition) return condition.every.every(meets);
    if ('some' in condition) return condition.some.some(meets);
    if ('not' in condition) return !meets(condition.not);
    const { offset, from, to } = condition.clear_in;
    const part = clear.subarray(offset, offset + from.length);
    return Buffer.compare(from, part) <= 0 && Buffer.compare(part, to) <= 0;
  }

  const isFound = all.every(meets) && (visible === undefined || visible.some((list) => list.every(meets)));
  if (!isFound) throw new Problem('integrity_failure');
}

function isWithin(at: number, { from, to }: TimeRange): boolean {
  return from <= at && at <= to;
}
