import type { TokenType } from '../../../client/create-client.ts';
import type { Query } from '../../../core/search/parse-query.ts';
import type { ShownCall } from '../parts/command-of.ts';
import { forgetMatch } from '../parts/forget-match.ts';
import { upTo } from '../parts/numbers.ts';
import { PAGE_SIZE } from '../parts/turner.tsx';
import { session } from '../session.ts';
import { vault } from '../vault.ts';
import { parsed } from './days-in-query.ts';

/** The parameters of a list that filter tokens. Values of one parameter are alternatives; all parameters must match. */
export interface ListFilters {
  readonly type?: readonly TokenType[];
  readonly container?: readonly string[];
  readonly id?: readonly string[];
  readonly fingerprint?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A filter in the query language of `POST /tokens/search`. */
export interface ParsedFilter {
  readonly text: string;
  /** The same filter for a list. Absent if only a search answers it, which needs `token:search`. */
  readonly list?: ListFilters;
  /** Whether a term is a value of a token. The address never contains such a filter. */
  readonly hasData: boolean;
}

/** Parses a filter. Returns an error message for an invalid one. */
export function parseFilter(text: string): ParsedFilter | string {
  if (text === '') return { text, list: {}, hasData: false };
  const query = parsed(text);
  if (typeof query === 'string') return query;
  const list = listOf(query);
  return { text, hasData: isOfData(query), ...(list && { list }) };
}

const isOfData = (query: Query): boolean =>
  query.kind === 'not'
    ? isOfData(query.part)
    : query.kind === 'match'
      ? query.field === 'data'
      : query.kind !== 'range' && query.parts.some(isOfData);

/** Returns the filters of a list that mean the same as the query, if there are any. */
function listOf(query: Query): ListFilters | undefined {
  const lists: Record<string, readonly string[]> = {};
  const metadata: Record<string, string> = {};
  for (const part of query.kind === 'and' ? query.parts : [query]) {
    const all = part.kind === 'or' ? part.parts : [part];
    const matches = all.flatMap((each) => (each.kind === 'match' ? [each] : []));
    const [{ field, key = '', value = '' } = { field: 'data' }] = matches;
    const isAlike = matches.length === all.length && matches.every((each) => each.field === field);
    const isNew = field === 'metadata' ? matches.length === 1 && !Object.hasOwn(metadata, key) : !(field in lists);
    // A list looks in a container and below it.
    const isListed = field === 'container' ? matches.every(({ below }) => below) : LISTED.has(field);
    if (!(isAlike && isNew && isListed)) return undefined;
    if (field === 'metadata') metadata[key] = value;
    else lists[field] = matches.map((each) => each.value);
  }
  return { ...lists, ...(Object.keys(metadata).length > 0 && { metadata }) };
}

const LISTED: ReadonlySet<string> = new Set(['id', 'type', 'fingerprint', 'metadata']);

const TERM = /(?:"(?:[^"\\]|\\.)*"|[[{][^\]}]*[\]}]|[^\s()"[\]{}])+/g;
const LANGUAGE = /^(?:AND|OR|NOT)$|^[!-]?[a-z_]+(?:\.(?:"[^"]*"|[^":]+))?:/;
const PAIR = /^([^="]+)=(.+)$/s;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const FINGERPRINT = /^[1-9A-HJ-NP-Za-km-z]{43,44}$/;
const PLAIN = /^[^\s()"[\]{}*?^:]+$/;
const NUMBER = /^\d[\d ]{7,}$/;

export const isUuid = (text: string): boolean => UUID.test(text);

/** Returns typed or pasted text as a query: `customer=42` as `metadata.customer:42`, and a single word by its form. */
export function queryOf(typed: string): string {
  const text = NUMBER.test(typed) ? typed.replaceAll(' ', '') : typed;
  const query = text.replace(TERM, (term) => {
    if (LANGUAGE.test(term)) return term;
    const [, name, value] = PAIR.exec(term) ?? [];
    if (name !== undefined && value !== undefined) return `metadata.${quoted(name)}:${quoted(value)}`;
    if (UUID.test(term)) return `id:${term}`;
    if (FINGERPRINT.test(term)) return `fingerprint:${term}`;
    if (/^\d{4}$/.test(term)) return `data:${term}`;
    return `(id:${quoted(term)} OR data:${quoted(term)})`;
  });
  forgetMatch();
  return query;
}

function quoted(word: string): string {
  if (PLAIN.test(word) || /^".*"$/s.test(word)) return word;
  return `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** The filters with values, by number. The address contains only the number, and Lock clears them. */
const kept = new Map<string, string>();
session.subscribe(({ kind }) => kind === 'locked' && kept.clear());

/** The members of an address without a query. */
export const NO_FILTER = { q: undefined, find: undefined };

/** Returns the part of an address that stands for a query. */
export function addressOf(query: string): { readonly q?: string; readonly find?: string } {
  const filter = parseFilter(query);
  if (typeof filter !== 'string' && !filter.hasData) return { q: query };
  const find = String(kept.size + 1);
  kept.set(find, query);
  return { find };
}

/** Returns the query that an address stands for; undefined for one whose values this page has forgotten. */
export function queryAt({ q = '', find }: Readonly<Record<string, string>>): string | undefined {
  return find === undefined ? q : kept.get(find);
}

/**
 * Loads the page after the cursor `start`, and the cursor of the next page. Requests masked data, even when the identity
 * may see more.
 */
export async function askPage(
  { list, text }: ParsedFilter,
  start: string | undefined,
  signal: AbortSignal,
  order?: 'oldest',
) {
  const paged = { transform: 'mask' as const, size: PAGE_SIZE, ...(order && { order }), ...(start && { start }) };
  const { pagination, data } =
    list === undefined
      ? await vault.searchTokensByCursor({ body: { query: text, ...paged }, signal })
      : await vault.listTokensByCursor({ query: { ...list, ...paged }, signal });
  return { tokens: data, next: pagination.next };
}

/** Loads the number of tokens that match the filter: `10,000` or, above the cap, `100,000+`. */
export async function askTotal({ list, text }: ParsedFilter, signal: AbortSignal): Promise<string> {
  const one = { size: 1, transform: 'redact' as const };
  const { pagination } =
    list === undefined
      ? await vault.searchTokens({ body: { query: text, ...one }, signal })
      : await vault.listTokens({ query: { ...list, ...one }, signal });
  return upTo(pagination.total_items, pagination.total_items_capped);
}

/** Returns the call that lists the tokens of a filter, for its command. */
export function listCommand({ list, text }: ParsedFilter, order?: 'oldest'): ShownCall {
  const shown = { transform: 'mask' as const, ...(order && { order }) };
  if (list === undefined) {
    return { operation: order ? 'searchTokensByCursor' : 'searchTokens', body: { query: text, ...shown } };
  }
  return { operation: order ? 'listTokensByCursor' : 'listTokens', query: { ...list, ...shown } };
}
