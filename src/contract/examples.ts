import type { OperationId } from './operations.ts';

/** One request of an operation and its answer, for the OpenAPI document. */
export interface Example {
  readonly summary: string;
  readonly params?: Readonly<Record<string, string>>;
  /** As the row's query schema describes it. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Absent where the operation answers 204. */
  readonly result?: unknown;
}

// Each name stands for one thing throughout, so that the examples read as one story: a backend and a web page of one tenant.
const TENANT_ID = '51c61fee-f40d-451c-875f-29f26cd9a6e8';
const OWNER_ID = '773247be-9eb5-4c60-89f8-29410f6be0db';
const MANAGEMENT_ID = '5fc1d3a0-33ec-43ef-87c0-644722bdfe82';
const PRIVATE_ID = '203548f1-1a78-4e29-8fc5-c16848d9df23';
const PUBLIC_ID = '91c21f25-11f4-467a-8d3e-bf30cd94e0ef';
const EXPIRING_ID = '8558f4d1-1fcc-4aca-820c-ba7f8395572f';
const CARD_ID = '019ca8b2-8a40-7019-8712-5c8abd9126b4';
const TEXT_ID = '019ca8b3-74a0-701c-8698-ba3032fe23f8';

/** The form of an API key with a checksum that is not its own: whoever finds one in a log need not look for its owner. */
const exampleKey = (letter: 'A' | 'B' | 'C' | 'D') => `key_ExampLeKeyNotReaL11111111111111${letter}`;

const at = (time: string) => `2026-03-01T${time}:00.000+00:00`;

const BACKEND_RULES = [
  {
    description: 'Everything, in plain text',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:create', 'token:read', 'token:update', 'token:delete'],
  },
];

const EXPIRING_RULES = [
  {
    description: 'Cards, masked',
    priority: 1,
    conditions: [{ attribute: 'container', operator: 'starts_with', value: '/pci/' }],
    transform: 'mask',
    permissions: ['token:read'],
  },
];

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

const PUBLIC_APPLICATION = {
  id: PUBLIC_ID,
  tenant_id: TENANT_ID,
  name: 'checkout page',
  type: 'public',
  permissions: ['token:create'],
  rules: [],
  created_by: MANAGEMENT_ID,
  created_at: at('09:32'),
};

const UPDATED_APPLICATION = {
  ...PUBLIC_APPLICATION,
  permissions: ['token:create', 'token:update'],
  modified_by: MANAGEMENT_ID,
};

const TENANT = {
  id: TENANT_ID,
  owner_id: OWNER_ID,
  name: 'production',
  settings: {},
  created_by: OWNER_ID,
  created_at: at('09:30'),
};

/**
 * Examples of every operation, by a name of their own. They are real answers: a test plays them in this order (applications
 * first, deletions last) on one vault.
 */
export const EXAMPLES: Readonly<Record<OperationId, Readonly<Record<string, Example>>>> = {
  createToken: {
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
  getToken: {
    card: { summary: "A card, revealed by the caller's rule", params: { id: CARD_ID }, result: CARD_TOKEN },
  },
  updateToken: {
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
  deleteToken: { text: { summary: 'A token', params: { id: TEXT_ID } } },
  createApplication: {
    private: {
      summary: 'For a backend: everything, in plain text',
      body: { name: 'backend', type: 'private', rules: BACKEND_RULES },
      result: {
        id: PRIVATE_ID,
        tenant_id: TENANT_ID,
        name: 'backend',
        key: exampleKey('A'),
        type: 'private',
        permissions: [],
        rules: BACKEND_RULES,
        created_by: MANAGEMENT_ID,
        created_at: at('09:31'),
      },
    },
    public: {
      summary: 'For a web page: it creates tokens, and reads none',
      body: { name: 'checkout page', type: 'public', permissions: ['token:create'] },
      result: { ...PUBLIC_APPLICATION, key: exampleKey('B') },
    },
    expiring: {
      summary: 'For one minute: cards, masked',
      body: { name: 'card on file', type: 'expiring', rules: EXPIRING_RULES },
      result: {
        id: EXPIRING_ID,
        tenant_id: TENANT_ID,
        name: 'card on file',
        key: exampleKey('C'),
        type: 'expiring',
        permissions: [],
        rules: EXPIRING_RULES,
        created_by: MANAGEMENT_ID,
        created_at: at('09:33'),
        expires_at: at('09:34'),
      },
    },
  },
  listApplications: {
    one: {
      summary: 'By id',
      query: { id: [PUBLIC_ID] },
      result: {
        pagination: { total_items: 1, page_number: 1, page_size: 20, total_pages: 1 },
        data: [PUBLIC_APPLICATION],
      },
    },
  },
  getApplicationByKey: {
    management: {
      summary: 'The first management application of a tenant',
      result: {
        id: MANAGEMENT_ID,
        tenant_id: TENANT_ID,
        name: 'management',
        type: 'management',
        permissions: [
          'application:create',
          'application:read',
          'application:update',
          'application:delete',
          'tenant:read',
          'tenant:update',
          'tenant:delete',
          'report:read',
        ],
        rules: [],
        created_by: OWNER_ID,
        created_at: at('09:30'),
      },
    },
  },
  getApplication: {
    public: { summary: 'An application', params: { id: PUBLIC_ID }, result: PUBLIC_APPLICATION },
  },
  updateApplication: {
    public: {
      summary: 'One more permission',
      params: { id: PUBLIC_ID },
      body: { name: 'checkout page', permissions: UPDATED_APPLICATION.permissions },
      result: { ...UPDATED_APPLICATION, modified_at: at('09:42') },
    },
  },
  regenerateApplicationKey: {
    public: {
      summary: 'A new key',
      params: { id: PUBLIC_ID },
      result: { ...UPDATED_APPLICATION, key: exampleKey('D'), modified_at: at('09:43') },
    },
  },
  deleteApplication: { public: { summary: 'An application', params: { id: PUBLIC_ID } } },
  getTenant: { tenant: { summary: 'The tenant of the calling key', result: TENANT } },
  updateTenant: {
    deduplicate: {
      summary: 'Deduplicate tokens from now on',
      body: { name: 'production', settings: { deduplicate_tokens: 'true' } },
      result: {
        ...TENANT,
        settings: { deduplicate_tokens: 'true' },
        modified_by: MANAGEMENT_ID,
        modified_at: at('09:45'),
      },
    },
  },
  deleteTenant: { tenant: { summary: 'The tenant of the calling key' } },
  getUsageReport: {
    month: {
      summary: 'The calendar month',
      result: {
        token_report: {
          metrics_by_type: {
            card: { count: 1, last_created_at: at('09:34') },
            token: { count: 1, last_created_at: at('09:35') },
          },
          included_monthly_active_tokens: 1000,
          monthly_active_tokens: 2,
        },
      },
    },
  },
};
