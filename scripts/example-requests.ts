import type { ExampleRequest, Examples } from '../src/contract/openapi/openapi.ts';

const ALL_ON_TOKENS = ['token:create', 'token:read', 'token:search', 'token:update', 'token:delete', 'token:use'];
const PRIVATE_ID = '$createApplication.private.id';
const PUBLIC_ID = '$createApplication.public.id';
const CARD_ID = '$createToken.card.id';
const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 };
const LAST_FOUR = ['{{ data.number | last4 }}'];

/**
 * The examples of the OpenAPI document, without their results. The build sends them to one vault in this order, so they
 * form one story about a backend and a web page of one tenant, and adds the results. A text `$operation.name.member` is
 * that member of the result of an earlier example.
 */
export const EXAMPLE_REQUESTS: Examples<ExampleRequest> = {
  createApplication: {
    private: {
      summary: 'A backend that may do everything and reads plain text',
      body: {
        name: 'backend',
        type: 'private',
        rules: [
          {
            description: 'Everything, in plain text',
            priority: 1,
            container: '/',
            transform: 'reveal',
            permissions: ALL_ON_TOKENS,
          },
        ],
      },
    },
    public: {
      summary: 'A web page that creates tokens but reads none',
      body: { name: 'checkout page', type: 'public', permissions: ['token:create'] },
    },
    expiring: {
      summary: 'An application that reads masked cards for one minute',
      body: {
        name: 'card on file',
        type: 'expiring',
        rules: [
          {
            description: 'Cards, masked',
            priority: 1,
            conditions: [{ attribute: 'container', operator: 'starts_with', value: '/pci/' }],
            transform: 'mask',
            permissions: ['token:read'],
          },
        ],
      },
    },
  },
  createToken: {
    card: {
      summary: 'A card with the default mask and container',
      body: {
        type: 'card',
        data: { ...CARD, cvc: '123' },
        metadata: { customer: '42' },
        search_indexes: LAST_FOUR,
      },
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
    },
  },
  previewToken: {
    card: {
      summary: 'How a card would be masked and found',
      body: { type: 'card', data: { ...CARD, cvc: '123' }, search_indexes: LAST_FOUR },
    },
  },
  listTokens: {
    cards: {
      summary: 'The cards of one customer',
      query: { type: ['card'], metadata: { customer: '42' }, page: 1, size: 10 },
    },
  },
  listTokensByCursor: {
    cards: {
      summary: 'The first page of the cards in a container',
      query: { type: ['card'], container: ['/pci/'], size: 10 },
    },
  },
  searchTokens: {
    cards: {
      summary: 'The cards of a customer, by the last four digits',
      body: { query: 'data:4242 AND metadata.customer:42', transform: 'mask' },
    },
  },
  searchTokensByCursor: {
    cards: { summary: 'The first page of the cards', body: { query: 'type:card', size: 10 } },
  },
  getToken: { card: { summary: "A card, revealed by the caller's rule", params: { id: CARD_ID } } },
  updateToken: {
    card: {
      summary: 'Change one member of the data, remove one, and change metadata',
      params: { id: CARD_ID },
      body: { data: { expiration_year: 2031, cvc: null }, metadata: { customer: '43' } },
    },
  },
  tokenize: {
    payment: {
      summary: 'A card and a PIN in one commit',
      body: {
        card: { id: 'card-77', type: 'card', data: CARD, search_indexes: [] },
        pins: [{ id: 'pin-77', type: 'token', data: '1234' }],
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
    },
  },
  listApplications: { one: { summary: 'By id', query: { id: [PUBLIC_ID] } } },
  getApplicationByKey: { management: { summary: 'The first management application of a tenant' } },
  getApplication: { public: { summary: 'An application', params: { id: PUBLIC_ID } } },
  explainAccess: {
    private: {
      summary: 'Why the backend sees a card',
      body: { application_id: PRIVATE_ID, token_id: CARD_ID },
    },
  },
  measureReach: {
    private: { summary: 'How many tokens the backend reads', body: { application_id: PRIVATE_ID } },
  },
  updateApplication: {
    public: {
      summary: 'One more permission',
      params: { id: PUBLIC_ID },
      body: { name: 'checkout page', permissions: ['token:create', 'token:update'] },
    },
  },
  regenerateApplicationKey: { public: { summary: 'A new key', params: { id: PUBLIC_ID } } },
  createApplicationKey: {
    next: { summary: 'A second key, before the first one is deleted', params: { id: PUBLIC_ID } },
  },
  listApplicationKeys: { public: { summary: 'Two keys', params: { id: PUBLIC_ID } } },
  getApplicationKey: {
    next: { summary: 'A key', params: { id: PUBLIC_ID, key_id: '$createApplicationKey.next.id' } },
  },
  getTenant: { tenant: { summary: 'The tenant of the calling key' } },
  updateTenant: {
    deduplicate: {
      summary: 'Deduplicate tokens from now on',
      body: { name: 'production', settings: { deduplicate_tokens: 'true' } },
    },
  },
  getUsageReport: { month: { summary: 'The calendar month' } },
  getActivity: { quarter: { summary: 'Three months', query: { months: 3 } } },
  listPermissions: {
    expiring: { summary: 'Permissions of expiring applications', query: { application_type: 'expiring' } },
  },
  listLogs: {
    application: { summary: 'The entries about an application', query: { entity_id: PRIVATE_ID, size: 1 } },
  },
  deleteApplicationKey: {
    first: { summary: 'The first key', params: { id: PUBLIC_ID, key_id: '$listApplicationKeys.public.1.id' } },
  },
  deleteToken: { text: { summary: 'A token', params: { id: '$createToken.text.id' } } },
  deleteApplication: { public: { summary: 'An application', params: { id: PUBLIC_ID } } },
  deleteTenant: { tenant: { summary: 'The tenant of the calling key' } },
};
