import { at, CARD_ID, PRIVATE_ID, TENANT_ID } from '../../example-names.ts';
import type { Examples } from './examples.ts';

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

/** The examples of the operations on tokens. */
export const TOKEN_EXAMPLES = {
  createToken: {
    card: {
      summary: 'A card with the default mask and container',
      body: {
        type: 'card',
        data: CARD_TOKEN.data,
        metadata: CARD_TOKEN.metadata,
        search_indexes: CARD_DEFINITION.search_indexes,
      },
      result: { ...CARD_TOKEN, data: { ...CARD, number: 'XXXXXXXXXXXX4242' }, ...CARD_DEFINITION },
    },
    text: {
      summary: 'A text with its own mask, container and expiry',
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
  previewToken: {
    card: {
      summary: 'How a card would be masked and found',
      body: { type: 'card', data: CARD_TOKEN.data, search_indexes: CARD_DEFINITION.search_indexes },
      result: {
        id: '019ca8b3-0000-7019-8712-5c8abd9126b4',
        type: 'card',
        tenant_id: TENANT_ID,
        data: { ...CARD, number: 'XXXXXXXXXXXX4242' },
        ...CARD_DEFINITION,
        containers: ['/pci/high/'],
        created_by: PRIVATE_ID,
        created_at: at('09:36'),
        id_is: 'assigned',
        fingerprinted: '{"cvc":"123","expiration_month":12,"expiration_year":2030,"number":"4242424242424242"}',
        search_values: ['4242'],
      },
    },
  },
  listTokens: {
    cards: {
      summary: 'The cards of one customer',
      query: { type: ['card'], metadata: { customer: '42' }, page: 1, size: 10 },
      result: {
        pagination: { total_items: 1, page_number: 1, page_size: 10, total_pages: 1 },
        data: [CARD_TOKEN],
      },
    },
  },
  listTokensByCursor: {
    cards: {
      summary: 'The first page of the cards in a container',
      query: { type: ['card'], container: ['/pci/'], size: 10 },
      result: { pagination: { page_size: 10 }, data: [CARD_TOKEN] },
    },
  },
  searchTokens: {
    cards: {
      summary: 'The cards of a customer, by the last four digits',
      body: { query: 'data:4242 AND metadata.customer:42', transform: 'mask' },
      result: {
        pagination: { total_items: 1, page_number: 1, page_size: 20, total_pages: 1 },
        data: [{ ...CARD_TOKEN, data: { ...CARD, number: 'XXXXXXXXXXXX4242' } }],
      },
    },
  },
  searchTokensByCursor: {
    cards: {
      summary: 'The first page of the cards',
      body: { query: 'type:card', size: 10 },
      result: { pagination: { page_size: 10 }, data: [CARD_TOKEN] },
    },
  },
  getToken: {
    card: { summary: "A card, revealed by the caller's rule", params: { id: CARD_ID }, result: CARD_TOKEN },
  },
  updateToken: {
    card: {
      summary: 'Change one member of the data, remove one, and change metadata',
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
  deleteToken: { text: { summary: 'A token', params: { id: TEXT_ID } } },
  tokenize: {
    payment: {
      summary: 'A card and a PIN in one commit',
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
  detokenize: {
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
} as const satisfies Partial<Examples>;
