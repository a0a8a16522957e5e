import { object } from './schema.ts';

/** The maximum of an integer without a limit of its own: 15 digits, which a double keeps. */
export const MAX_INTEGER = 999_999_999_999_999;

/** `page` and `size` of the list operations (decisions §2). */
export const PAGE_QUERY = {
  page: { type: 'integer', minimum: 1, maximum: MAX_INTEGER, default: 1, description: 'Page number, from 1.' },
  size: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'Items per page, 1 to 100.' },
} as const;

/** `start` and `size` of the lists by cursor. */
export const CURSOR_QUERY = {
  start: {
    type: 'string',
    minLength: 1,
    maxLength: 4000,
    description: 'The `next` of the previous page; absent for the first page.',
  },
  size: PAGE_QUERY.size,
} as const;

export const LIST_ORDERS = ['newest', 'oldest'] as const;
export type ListOrder = (typeof LIST_ORDERS)[number];

/** `order` of the lists of tokens by cursor. */
export const ORDER = {
  type: 'string',
  enum: LIST_ORDERS,
  description: 'Which tokens come first. Default: that of `start`, else the newest.',
} as const;

/** The `pagination` member of a page by cursor. */
export const CURSOR_PAGINATION = {
  description: 'The cursor of the next page.',
  ...object(['page_size'], {
    page_size: { type: 'integer', minimum: 1, maximum: 100, description: 'Items per page.' },
    next: { type: 'string', description: 'The `start` of the next page; absent on the last one.' },
  }),
} as const;

/** The maximum number of matches that lists count exactly. */
export const MAX_TOTAL = 100_000;

/** The `pagination` member of the list envelope (§2.9). `total_pages` is 0 when nothing matches. */
export const PAGINATION = {
  description: 'The position of the page in the list.',
  ...object(['total_items', 'page_number', 'page_size', 'total_pages'], {
    total_items: { type: 'integer', minimum: 0, description: 'The number of matches; exact up to 100,000.' },
    total_items_capped: { type: 'boolean', description: 'Present and true when more than 100,000 items match.' },
    page_number: { type: 'integer', minimum: 1, description: 'The number of this page, from 1.' },
    page_size: { type: 'integer', minimum: 1, maximum: 100, description: 'Items per page.' },
    total_pages: { type: 'integer', minimum: 0, description: 'The number of pages for the counted items.' },
  }),
} as const;
