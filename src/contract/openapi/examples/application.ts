import { at, CARD_ID, MANAGEMENT_ID, OWNER_ID, PRIVATE_ID, PUBLIC_ID, TENANT_ID } from '../../example-names.ts';
import { TOKEN_PERMISSIONS } from '../../explanation.ts';
import type { Examples } from './examples.ts';

const EXPIRING_ID = '8558f4d1-1fcc-4aca-820c-ba7f8395572f';

/** Returns a text that looks like an API key but has a wrong checksum, so secret scanners do not report it. */
export const exampleKey = (letter: 'A' | 'B' | 'C' | 'D' | 'E') => `key_ExampLeKeyNotReaL11111111111111${letter}`;

const BACKEND_RULES = [
  {
    description: 'Everything, in plain text',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:create', 'token:read', 'token:search', 'token:update', 'token:delete', 'token:use'],
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

const revealedByRule = (permission: string) => ({
  permission,
  allowed: true,
  transform: 'reveal',
  reason: `Rule 1 (Everything, in plain text) is the first that matches and grants ${permission}.`,
  own: {
    transform: 'reveal',
    source: 'rule',
    rules: [{ priority: 1, outcome: 'governs', reason: `the rule matches /pci/high/ and grants ${permission}` }],
  },
});

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

/** The examples of the operations on applications. */
export const APPLICATION_EXAMPLES = {
  createApplication: {
    private: {
      summary: 'A backend that may do everything and reads plain text',
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
      summary: 'A web page that creates tokens but reads none',
      body: { name: 'checkout page', type: 'public', permissions: ['token:create'] },
      result: { ...PUBLIC_APPLICATION, key: exampleKey('B') },
    },
    expiring: {
      summary: 'An application that reads masked cards for one minute',
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
          'log:read',
        ],
        rules: [],
        created_by: OWNER_ID,
        created_at: at('09:30'),
      },
    },
  },
  getApplication: {
    public: {
      summary: 'An application',
      params: { id: PUBLIC_ID },
      result: { ...PUBLIC_APPLICATION, expiring_applications: 0 },
    },
  },
  explainAccess: {
    private: {
      summary: 'Why the backend sees a card',
      body: { application_id: PRIVATE_ID, token_id: CARD_ID },
      result: {
        token_id: CARD_ID,
        containers: ['/pci/high/'],
        permissions: TOKEN_PERMISSIONS.map(revealedByRule),
      },
    },
  },
  measureReach: {
    private: {
      summary: 'How many tokens the backend reads',
      body: { application_id: PRIVATE_ID },
      result: {
        reach: [
          { source: 'rule', priority: 1, transform: 'reveal', tokens: 4, capped: false },
          { source: 'nothing', tokens: 0, capped: false },
        ],
      },
    },
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
} as const satisfies Partial<Examples>;
