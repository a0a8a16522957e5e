import type { Token } from '../../../client/create-client.ts';
import type { ShownCall } from '../parts/command-of.ts';
import { upTo } from '../parts/numbers.ts';
import { PAGE_SIZE } from '../parts/turner.tsx';
import { vault } from '../vault.ts';
import type { ParsedFilter } from './filter.ts';

export interface TokenPage {
  readonly tokens: readonly Token[];
  /** The cursor of the next page. */
  readonly next: string | undefined;
}

interface PageStart {
  /** The cursor of the page; undefined for the first page. */
  readonly start: string | undefined;
  readonly order?: 'oldest' | undefined;
}

/** Loads a page after a cursor. Requests masked data, even when the identity may see more. */
export async function askPage(
  { list, text }: ParsedFilter,
  { start, order }: PageStart,
  signal: AbortSignal,
): Promise<TokenPage> {
  const paged = { transform: 'mask' as const, size: PAGE_SIZE, ...(order && { order }), ...(start && { start }) };
  const { pagination, data } =
    list === undefined
      ? await vault().searchTokensByCursor({ body: { query: text, ...paged }, signal })
      : await vault().listTokensByCursor({ query: { ...list, ...paged }, signal });
  return { tokens: data, next: pagination.next };
}

/** Loads the number of tokens that match the filter: `10,000` or, above the cap, `100,000+`. */
export async function askTotal({ list, text }: ParsedFilter, signal: AbortSignal): Promise<string> {
  const one = { size: 1, transform: 'redact' as const };
  const { pagination } =
    list === undefined
      ? await vault().searchTokens({ body: { query: text, ...one }, signal })
      : await vault().listTokens({ query: { ...list, ...one }, signal });
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
