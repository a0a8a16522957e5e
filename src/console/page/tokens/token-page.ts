import type { Token } from '../../../client/create-client.ts';
import { wholeNumber } from '../parts/numbers.ts';
import { vault } from '../vault.ts';
import { type FilterTerms, searchQuery } from './filter.ts';

/** The number of tokens per page. */
export const TOKEN_PAGE_SIZE = 50;

export interface TokenPage {
  readonly tokens: readonly Token[];
  /** The cursor of the next page. */
  readonly next: string | undefined;
}

/** Returns the query of a list, without empty members. */
export function listQuery({ type, container, id, fingerprint, metadata }: FilterTerms) {
  return {
    ...(type.length > 0 && { type }),
    ...(container.length > 0 && { container }),
    ...(id.length > 0 && { id }),
    ...(fingerprint.length > 0 && { fingerprint }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

/** Loads a page after a cursor. Requests masked data, even when the identity may see more. */
export async function askPage(filter: FilterTerms, start: string | undefined, signal: AbortSignal): Promise<TokenPage> {
  const paged = { transform: 'mask' as const, size: TOKEN_PAGE_SIZE, ...(start !== undefined && { start }) };
  const { pagination, data } =
    filter.find === undefined
      ? await vault().listTokensByCursor({ query: { ...listQuery(filter), ...paged }, signal })
      : await vault().searchTokensByCursor({ body: { query: searchQuery(filter), ...paged }, signal });
  return { tokens: data, next: pagination.next };
}

/** Loads the number of tokens that match the filter: `10,000` or, above the cap, `100,000+`. */
export async function askTotal(filter: FilterTerms, signal: AbortSignal): Promise<string> {
  const one = { size: 1, transform: 'redact' as const };
  const { pagination } =
    filter.find === undefined
      ? await vault().listTokens({ query: { ...listQuery(filter), ...one }, signal })
      : await vault().searchTokens({ body: { query: searchQuery(filter), ...one }, signal });
  return `${wholeNumber(pagination.total_items)}${pagination.total_items_capped ? '+' : ''}`;
}
