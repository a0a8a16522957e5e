import { at, CARD_ID, PRIVATE_ID, TENANT_ID } from './example-names.ts';
import type { Operation } from './operations.ts';
import {
  CREATE_TOKEN,
  GET_TOKEN_QUERY,
  LIST_TOKENS_CURSOR_QUERY,
  LIST_TOKENS_QUERY,
  SEARCH_TOKENS,
  SEARCH_TOKENS_BY_CURSOR,
  TEMPLATE,
  TOKEN,
  TOKEN_CURSOR_PAGE,
  TOKEN_PAGE,
  TOKEN_PARAMS,
  TOKEN_REQUESTS,
  UPDATE_TOKEN,
} from './token.ts';

const TOKEN_COLUMNS = ['id', 'type', 'data', 'containers', 'metadata', 'created_at', 'expires_at'] as const;
const TOKEN_FLAGS = { containers: 'container', search_indexes: 'search-index' } as const;

const TEXT_ID = '019ca8b3-74a0-701c-8698-ba3032fe23f8';
const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 };

const CARD_DEFINITION = {
  mask: {
    number: '{{ data.number | reveal_last: 4 }}',
    expiration_month: '{{ data.expiration_month }}',
    expiration_year: '{{ data.expiration_year }}',
  },
  fingerprint_expression: '{{ data | stringify }}',
  search_indexes: ['{{ data.number | last4 }}'],
};

const CARD_TOKEN = {
  id: CARD_ID,
  type: 'card',
  tenant_id: TENANT_ID,
  data: { ...CARD, cvc: '123' },
  fingerprint: '8xojc9BDJ89uNrcAwdpSsvjUTin4W8LbYyLpZAmSbpKz',
  containers: ['/pci/high/'],
  metadata: { customer: '42' },
  created_by: PRIVATE_ID,
  created_at: at('09:34'),
};

/** §4.1. */
export const TOKEN_OPERATIONS = {
  createToken: {
    method: 'POST',
    path: '/tokens',
    permission: 'token:create',
    body: CREATE_TOKEN,
    result: TOKEN,
    status: 201,
    summary: 'Create a token',
    audit: { code: 'tc', effect: ['token', 'upsert'] },
    conflicts: ['token_id_taken'],
    cli: {
      command: ['tokens', 'create'],
      flags: TOKEN_FLAGS,
      columns: TOKEN_COLUMNS,
      asks: ['type', 'data'],
      examples: [
        'vault tokens create --type card --data @card.json --field id',
        'vault tokens create --type token --text - --metadata customer=42 < pin.txt',
        `vault tokens create --type token --text - --mask '{{ data | reveal_last: 2 }}'`,
        `vault tokens create --type card_number --text - --id '{{ data | alias_card }}'`,
        `vault tokens create --type bank --data @bank.json --expires-at 12/31/2030`,
        'vault tokens create --body @token.json',
      ],
    },
    examples: {
      card: {
        summary: 'A card: the type brings the mask and the container',
        body: {
          type: 'card',
          data: CARD_TOKEN.data,
          metadata: CARD_TOKEN.metadata,
          search_indexes: CARD_DEFINITION.search_indexes,
        },
        result: { ...CARD_TOKEN, data: { ...CARD, number: 'XXXXXXXXXXXX4242' }, ...CARD_DEFINITION },
      },
      text: {
        summary: 'A text with a mask, a container and an end of its own',
        body: {
          type: 'token',
          data: 'Sensitive Value',
          mask: '{{ data | reveal_last: 4 }}',
          containers: ['/general/low/'],
          expires_at: '12/31/2035 11:59:59 PM -05:00',
        },
        result: {
          id: TEXT_ID,
          type: 'token',
          tenant_id: TENANT_ID,
          data: 'XXXXXXXXXXXalue',
          mask: '{{ data | reveal_last: 4 }}',
          fingerprint: '9ZNBanjwpB9Fdaxtc7RsENx75daUB6PpmhdLwGRp6Mtj',
          fingerprint_expression: '{{ data | stringify }}',
          containers: ['/general/low/'],
          created_by: PRIVATE_ID,
          created_at: at('09:35'),
          expires_at: '2035-12-31T23:59:59.000-05:00',
        },
      },
    },
  },
  listTokens: {
    method: 'GET',
    path: '/tokens',
    permission: 'token:read',
    query: LIST_TOKENS_QUERY,
    result: TOKEN_PAGE,
    status: 200,
    summary: 'List tokens',
    audit: { code: 'tl', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['tokens', 'list'],
      walk: 'listTokensByCursor',
      columns: TOKEN_COLUMNS,
      examples: [
        'vault tokens list --type card --metadata customer=42',
        'vault tokens list --size 100 --page 2 -o table',
        'vault tokens list --all -o ndjson > tokens.ndjson',
      ],
    },
    examples: {
      cards: {
        summary: 'The cards of one customer',
        query: { type: ['card'], metadata: { customer: '42' }, page: 1, size: 10 },
        result: {
          pagination: { total_items: 1, page_number: 1, page_size: 10, total_pages: 1 },
          data: [CARD_TOKEN],
        },
      },
    },
  },
  listTokensByCursor: {
    method: 'GET',
    path: '/v2/tokens',
    permission: 'token:read',
    query: LIST_TOKENS_CURSOR_QUERY,
    result: TOKEN_CURSOR_PAGE,
    status: 200,
    summary: 'List tokens by cursor',
    audit: { code: 'tw', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['tokens', 'walk'],
      columns: TOKEN_COLUMNS,
      examples: ['vault tokens walk --size 100', 'vault tokens walk --size 100 --start $NEXT'],
    },
    examples: {
      cards: {
        summary: 'The first page of the cards in a container',
        query: { type: ['card'], container: ['/pci/'], size: 10 },
        result: { pagination: { page_size: 10 }, data: [CARD_TOKEN] },
      },
    },
  },
  searchTokens: {
    method: 'POST',
    path: '/tokens/search',
    permission: 'token:search',
    body: SEARCH_TOKENS,
    result: TOKEN_PAGE,
    status: 200,
    summary: 'Search tokens with a query',
    audit: { code: 'ts', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['tokens', 'search'],
      walk: 'searchTokensByCursor',
      arguments: ['query'],
      columns: TOKEN_COLUMNS,
      examples: [
        "vault tokens search 'metadata.customer:42 AND type:card'",
        "vault tokens search 'data:4242 AND created_at:[2026-01-01 TO *]' --all",
      ],
    },
    examples: {
      cards: {
        summary: 'The cards of a customer, by the last four digits',
        body: { query: 'data:4242 AND metadata.customer:42', transform: 'mask' },
        result: {
          pagination: { total_items: 1, page_number: 1, page_size: 20, total_pages: 1 },
          data: [{ ...CARD_TOKEN, data: { ...CARD, number: 'XXXXXXXXXXXX4242' } }],
        },
      },
    },
  },
  searchTokensByCursor: {
    method: 'POST',
    path: '/v2/tokens/search',
    permission: 'token:search',
    body: SEARCH_TOKENS_BY_CURSOR,
    result: TOKEN_CURSOR_PAGE,
    status: 200,
    summary: 'Search tokens by cursor',
    audit: { code: 'tv', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['tokens', 'walk-search'],
      arguments: ['query'],
      columns: TOKEN_COLUMNS,
      examples: ["vault tokens walk-search 'type:card' --size 100 --start $NEXT"],
    },
    examples: {
      cards: {
        summary: 'The first page of the cards',
        body: { query: 'type:card', size: 10 },
        result: { pagination: { page_size: 10 }, data: [CARD_TOKEN] },
      },
    },
  },
  getToken: {
    method: 'GET',
    path: '/tokens/{id}',
    permission: 'token:read',
    params: TOKEN_PARAMS,
    query: GET_TOKEN_QUERY,
    result: TOKEN,
    status: 200,
    summary: 'Get a token',
    audit: { code: 'tg', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['tokens', 'get'],
      arguments: ['id'],
      columns: TOKEN_COLUMNS,
      examples: ['vault tokens get $ID', 'vault tokens get $ID --field data.number'],
    },
    examples: {
      card: { summary: "A card, revealed by the caller's rule", params: { id: CARD_ID }, result: CARD_TOKEN },
    },
  },
  updateToken: {
    method: 'PATCH',
    path: '/tokens/{id}',
    permission: 'token:update',
    params: TOKEN_PARAMS,
    body: UPDATE_TOKEN,
    mediaType: 'application/merge-patch+json',
    result: TOKEN,
    status: 200,
    summary: 'Update a token with a merge patch',
    audit: { code: 'tu', effect: ['token', 'upsert'] },
    conflicts: ['write_conflict'],
    cli: {
      command: ['tokens', 'patch'],
      arguments: ['id'],
      flags: TOKEN_FLAGS,
      columns: TOKEN_COLUMNS,
      examples: [
        `vault tokens patch $ID --data '{"expiration_year":2031}'`,
        'vault tokens patch $ID --metadata tier=gold --clear metadata.customer',
        'vault tokens patch $ID --container /pci/low/ --clear expires-at',
      ],
    },
    examples: {
      card: {
        summary: 'One member of the data changed and one removed, and other metadata',
        params: { id: CARD_ID },
        body: { data: { expiration_year: 2031, cvc: null }, metadata: { customer: '43' } },
        result: {
          ...CARD_TOKEN,
          ...CARD_DEFINITION,
          data: { ...CARD, expiration_year: 2031 },
          fingerprint: '7PE8tQ7rSU3GYhcixPY15UcVFmb3WmohWrswzFgVyaYT',
          metadata: { customer: '43' },
          modified_by: PRIVATE_ID,
          modified_at: at('09:38'),
        },
      },
    },
  },
  deleteToken: {
    method: 'DELETE',
    path: '/tokens/{id}',
    permission: 'token:delete',
    params: TOKEN_PARAMS,
    status: 204,
    summary: 'Delete a token',
    audit: { code: 'td', effect: ['token', 'remove'] },
    conflicts: ['write_conflict'],
    cli: {
      command: ['tokens', 'delete'],
      arguments: ['id'],
      columns: [],
      confirm: 'The data of the token is removed for good.',
      examples: ['vault tokens delete $ID --yes'],
    },
    examples: { text: { summary: 'A token', params: { id: TEXT_ID } } },
  },
  tokenize: {
    method: 'POST',
    path: '/tokenize',
    permission: 'token:create',
    body: TOKEN_REQUESTS,
    result: { description: 'The body with a token in place of each request.' },
    status: 201,
    summary: 'Create the tokens of a JSON document',
    audit: { code: 'tb', effect: ['token', 'upsert'] },
    conflicts: ['token_id_taken'],
    cli: {
      command: ['tokenize'],
      columns: [],
      examples: ['vault tokenize < cards.json', 'vault tokenize --body @cards.json --field [0].id'],
    },
    examples: {
      payment: {
        summary: 'A card and a PIN: all or none',
        body: {
          card: { id: 'card-77', type: 'card', data: CARD, search_indexes: [] },
          pins: [{ id: 'pin-77', type: 'token', data: '1234' }],
        },
        result: {
          card: {
            id: 'card-77',
            type: 'card',
            tenant_id: TENANT_ID,
            data: { ...CARD, number: 'XXXXXXXXXXXX4242' },
            ...CARD_DEFINITION,
            fingerprint: '5Wd3QxJtQ1rLr8yCsnVbT2cPz6uKxAhRkEo9gMfYv7sN',
            containers: ['/pci/high/'],
            search_indexes: [],
            created_by: PRIVATE_ID,
            created_at: at('09:39'),
          },
          pins: [
            {
              id: 'pin-77',
              type: 'token',
              tenant_id: TENANT_ID,
              fingerprint: 'HkT2vQmB8nZ5rXcW3yLpJ7sD9fGa4EuRt6VxNqMoCi1b',
              fingerprint_expression: '{{ data | stringify }}',
              containers: ['/general/high/'],
              created_by: PRIVATE_ID,
              created_at: at('09:39'),
            },
          ],
        },
      },
    },
  },
  detokenize: {
    method: 'POST',
    path: '/detokenize',
    permission: 'token:use',
    body: TEMPLATE,
    result: { description: 'The body with the data of the tokens.' },
    status: 200,
    summary: 'Put data of tokens into a JSON document',
    audit: { code: 'tx', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['detokenize'],
      columns: [],
      examples: ['vault detokenize < template.json', 'vault detokenize --body @template.json --field pan'],
    },
    examples: {
      charge: {
        summary: 'Two members of a card, and a text around a PIN',
        body: {
          amount: 100,
          pan: "{{ card-77 | json: '$.number' }}",
          month: "{{ card-77 | json: '$.expiration_month' }}",
          note: 'PIN {{ pin-77 }}',
        },
        result: { amount: 100, pan: CARD.number, month: CARD.expiration_month, note: 'PIN 1234' },
      },
    },
  },
} as const satisfies Record<string, Operation>;
