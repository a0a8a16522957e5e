import { PAGE_QUERY } from '../../contract/page.ts';
import type { ListTokensQuery } from '../../contract/token.ts';
import type { PageRequest } from '../ports.ts';
import { Problem } from '../problem.ts';

/** The parameters of a page by number. */
export type PageQuery = Pick<ListTokensQuery, 'page' | 'size'>;

export const DEFAULT_SIZE = PAGE_QUERY.size.default;

/** Returns the page to request from a store (decisions §2). */
export function pageRequest({ page = 1, size = DEFAULT_SIZE }: PageQuery): PageRequest {
  return { offset: Math.min((page - 1) * size, Number.MAX_SAFE_INTEGER), limit: size };
}

/** Returns the problem of a page that exceeds the size limit of a response. */
export function pageTooLarge(): Problem {
  return new Problem('result_too_large', {
    errors: { size: ['must be smaller, because these items exceed the size limit of a response'] },
  });
}

/** Returns the list envelope: the pagination and the data (§2.9). */
export function pageOf<T>(
  { page = 1, size = DEFAULT_SIZE }: PageQuery,
  total: number,
  data: readonly T[],
  { isCapped = false } = {},
) {
  const pagination = {
    total_items: total,
    total_items_capped: isCapped || undefined,
    page_number: page,
    page_size: size,
    total_pages: Math.ceil(total / size),
  };
  return { pagination, data };
}
