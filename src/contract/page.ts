/** `page` and `size` of the list operations (decisions §2). */
export const PAGE_QUERY = {
  page: { type: 'integer', minimum: 1, maximum: 999_999_999_999_999, default: 1, description: 'Page number, from 1.' },
  size: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'Items a page, 1 to 100.' },
} as const;

/** The `pagination` member of the list envelope (§2.9). `total_pages` is 0 when nothing matches. */
export const PAGINATION = {
  type: 'object',
  required: ['total_items', 'page_number', 'page_size', 'total_pages'],
  additionalProperties: false,
  properties: {
    total_items: { type: 'integer', minimum: 0 },
    page_number: { type: 'integer', minimum: 1 },
    page_size: { type: 'integer', minimum: 1, maximum: 100 },
    total_pages: { type: 'integer', minimum: 0 },
  },
} as const;
