import { CURSOR_PAGINATION, CURSOR_QUERY, ORDER, PAGE_QUERY, PAGINATION } from './page.ts';
import {
  CHANGE_NAMES,
  CHANGES,
  CONTAINER,
  type Infer,
  OWN_TENANT_ID,
  object,
  PLAIN_TEXT,
  readOnly,
  TIME,
} from './schema.ts';
import { TOKEN_TYPE_NAMES } from './token-types.ts';

const TYPE = {
  enum: TOKEN_TYPE_NAMES,
  description: 'The kind of `data`, which determines its validation and the defaults of the token.',
} as const;

/** The sensitive value itself, any JSON. */
const DATA = { description: 'The sensitive value: any JSON that the type allows.' } as const;

const MASK = {
  description: 'The masked form of `data`: any JSON, in which strings at every depth are expressions.',
  examples: ['{{ data | reveal_last: 4 }}'],
} as const;

const EXPRESSION = { type: 'string', minLength: 1, maxLength: 1024 } as const;

const CONTAINERS = {
  type: 'array',
  items: CONTAINER,
  minItems: 1,
  maxItems: 20,
  description: 'The containers of the token, e.g. /pci/high/.',
} as const;

const METADATA = {
  type: 'object',
  propertyNames: { type: 'string', minLength: 1, maxLength: 128, pattern: PLAIN_TEXT },
  additionalProperties: { type: 'string', maxLength: 1024, pattern: PLAIN_TEXT },
  maxProperties: 50,
  description: 'Names and values that are not sensitive, without line breaks and other control characters.',
} as const;

const SEARCH_INDEXES = {
  type: 'array',
  items: EXPRESSION,
  maxItems: 10,
  description: 'Expressions on `data`. Searches find the token by the results.',
} as const;

const FINGERPRINT_EXPRESSION = {
  ...EXPRESSION,
  description:
    'The expression for the text to fingerprint. Default: {{ data | stringify }}, which fingerprints the canonical JSON text of `data`.',
} as const;

const EXPIRES_AT = {
  type: 'string',
  maxLength: 64,
  description: 'The expiry of the token: ISO 8601, M/D/YYYY, or M/D/YYYY h:mm[:ss] AM|PM [±hh:mm].',
} as const;

const DEDUPLICATE_TOKEN = {
  type: 'boolean',
  description: "Return an existing token with the same fingerprint, if there is one. Default: the tenant's setting.",
} as const;

const WITHOUT_RESULT = {
  type: 'array',
  items: { type: 'string', pattern: '^(mask|fingerprint_expression|search_indexes\\.[0-9])$' },
  maxItems: 12,
  uniqueItems: true,
  description:
    'Expressions to store without a result, because they fail on `data`: mask, fingerprint_expression, search_indexes.0 and so on. Exports contain it.',
} as const;

/** The Token (§2.1). Unset members, and members that the caller may not see, are absent. */
export const TOKEN = object(['id', 'tenant_id', 'type'], {
  id: { type: 'string', minLength: 3, maxLength: 400, description: 'The id of the token.' },
  type: TYPE,
  tenant_id: OWN_TENANT_ID,
  data: DATA,
  mask: MASK,
  fingerprint: {
    type: 'string',
    description: 'A keyed hash, equal for tokens of one tenant and type with equal content.',
  },
  fingerprint_expression: FINGERPRINT_EXPRESSION,
  containers: CONTAINERS,
  metadata: METADATA,
  search_indexes: SEARCH_INDEXES,
  ...CHANGES,
  expires_at: { ...TIME, description: 'The expiry of the token.' },
});

const TOKENS = { type: 'array', items: TOKEN, description: 'The tokens of the page, newest first.' } as const;

export const TOKEN_PAGE = object(['pagination', 'data'], { pagination: PAGINATION, data: TOKENS });

export const TOKEN_CURSOR_PAGE = object(['pagination', 'data'], { pagination: CURSOR_PAGINATION, data: TOKENS });

export const CREATE_TOKEN = object(['type', 'data'], {
  id: {
    type: 'string',
    minLength: 1,
    maxLength: 1024,
    description:
      'The id of the token: 3 to 400 characters, or an expression of at most 1,024 characters that returns the id. Default: a UUID.',
  },
  type: TYPE,
  data: DATA,
  mask: { ...MASK, description: `${MASK.description} Default: the mask of the type.` },
  containers: { ...CONTAINERS, description: `${CONTAINERS.description} Default: the container of the type.` },
  metadata: METADATA,
  search_indexes: SEARCH_INDEXES,
  fingerprint_expression: FINGERPRINT_EXPRESSION,
  deduplicate_token: DEDUPLICATE_TOKEN,
  expires_at: EXPIRES_AT,
  without_result: WITHOUT_RESULT,
});

export const TOKEN_REQUESTS = {
  description:
    'One Create Token body, or arrays and objects that contain such bodies (at most 1,000). The result has the same shape, with each body replaced by its token.',
} as const;

export const TEMPLATE = {
  description: `Any JSON. Each {{ ID }} in its strings, with optional filters, becomes the data of the token with this id. {{ '{{' }} writes two braces.`,
} as const;

const OR_NULL = 'null restores the default.';

/**
 * Update Token (§4.1): `data`, `mask` and `metadata` are merge patches (RFC 7396); other members replace the stored
 * ones.
 */
export const UPDATE_TOKEN = object([], {
  data: { description: 'A merge patch for the sensitive value. A member that is null is removed.' },
  mask: {
    examples: MASK.examples,
    description:
      'A merge patch for the mask. null removes the mask, so reads that would return masked data return no data.',
  },
  metadata: {
    type: ['object', 'null'],
    propertyNames: METADATA.propertyNames,
    additionalProperties: { type: ['string', 'null'], maxLength: 1024, pattern: PLAIN_TEXT },
    maxProperties: 100,
    description: 'A merge patch for the metadata. null removes the metadata, or one member of it.',
  },
  containers: {
    ...CONTAINERS,
    type: ['array', 'null'],
    description: `The new containers of the token; ${OR_NULL}`,
  },
  search_indexes: {
    ...SEARCH_INDEXES,
    type: ['array', 'null'],
    description: 'The new search indexes; null removes them.',
  },
  fingerprint_expression: {
    ...EXPRESSION,
    type: ['string', 'null'],
    description: `The expression for the text to fingerprint; ${OR_NULL}`,
  },
  deduplicate_token: {
    type: ['boolean', 'null'],
    description:
      "Deduplicate this update. The patch is applied even if the token becomes a duplicate, and both tokens stay. The reply then leaves out data, metadata, mask and expressions if the caller cannot read the other token. Default: the tenant's setting.",
  },
  expires_at: {
    ...EXPIRES_AT,
    type: ['string', 'null'],
    description: `${EXPIRES_AT.description} null removes the expiry.`,
  },
  ...readOnly(TOKEN.properties, ['id', 'type', 'tenant_id', 'fingerprint', ...CHANGE_NAMES]),
});

/** An upper limit for the transform of a read. */
const MAX_TRANSFORM = {
  type: 'string',
  enum: ['redact', 'mask'],
  description: 'The strongest transform to apply to `data`, even if the governing rule reveals more.',
} as const;

const TOKEN_FILTERS = object([], {
  id: {
    type: 'array',
    items: { type: 'string', maxLength: 400 },
    maxItems: 100,
    description: 'Only tokens with these ids.',
  },
  type: { type: 'array', items: TYPE, maxItems: 100, description: 'Only tokens of these types.' },
  metadata: {
    type: 'object',
    additionalProperties: { type: 'string', maxLength: 1024 },
    maxProperties: 50,
    description: 'Only tokens whose metadata has this value (case-insensitive).',
  },
  container: {
    type: 'array',
    items: CONTAINER,
    maxItems: 100,
    description: 'Only tokens in or below these containers.',
  },
  fingerprint: {
    type: 'array',
    items: { type: 'string', maxLength: 100 },
    maxItems: 100,
    description: 'Only tokens with these fingerprints.',
  },
});

export const LIST_TOKENS_QUERY = {
  ...TOKEN_FILTERS,
  properties: { ...TOKEN_FILTERS.properties, transform: MAX_TRANSFORM, ...PAGE_QUERY },
} as const;

export const LIST_TOKENS_CURSOR_QUERY = {
  ...TOKEN_FILTERS,
  properties: { ...TOKEN_FILTERS.properties, transform: MAX_TRANSFORM, order: ORDER, ...CURSOR_QUERY },
} as const;

const SEARCH_QUERY = {
  type: 'string',
  minLength: 1,
  maxLength: 1000,
  description: 'The query, e.g. `metadata.customer:42 AND type:card`.',
} as const;

export const SEARCH_TOKENS = object(['query'], { query: SEARCH_QUERY, transform: MAX_TRANSFORM, ...PAGE_QUERY });

export const SEARCH_TOKENS_BY_CURSOR = {
  ...SEARCH_TOKENS,
  properties: { query: SEARCH_QUERY, transform: MAX_TRANSFORM, order: ORDER, ...CURSOR_QUERY },
} as const;

export const GET_TOKEN_QUERY = object([], { transform: MAX_TRANSFORM });

export const TOKEN_PARAMS = object(['id'], {
  id: { type: 'string', minLength: 1, maxLength: 1024, description: 'The id of the token.' },
});

export type Token = Infer<typeof TOKEN>;
export type CreateToken = Infer<typeof CREATE_TOKEN>;
export type UpdateToken = Infer<typeof UPDATE_TOKEN>;
export type ListTokensQuery = Infer<typeof LIST_TOKENS_QUERY>;
export type TokenFilters = Infer<typeof TOKEN_FILTERS>;
export type SearchTokens = Infer<typeof SEARCH_TOKENS>;

const { fingerprint, ...SHOWN } = TOKEN.properties;

/**
 * The token that Create Token would create. It has no fingerprint, because a preview must not help to find tokens with
 * the same content.
 */
export const TOKEN_PREVIEW = {
  ...TOKEN,
  required: [...TOKEN.required, 'id_is', 'fingerprinted', 'search_values'],
  properties: {
    ...SHOWN,
    id_is: {
      enum: ['given', 'sample', 'assigned'],
      description:
        'The origin of the id: `given` in the request, a `sample` result of its expression, or `assigned` by the vault. The created token gets a different id in the last two cases.',
    },
    fingerprinted: {
      type: 'string',
      description:
        'The text from which the fingerprint is computed: the canonical JSON text of `data`, or the result of a fingerprint expression other than the default.',
    },
    search_values: {
      type: 'array',
      items: { type: 'string' },
      description: 'The values of the search indexes, in their order.',
    },
  },
} as const;

export type TokenPreview = Infer<typeof TOKEN_PREVIEW>;
