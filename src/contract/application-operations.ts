import {
  APPLICATION,
  APPLICATION_PAGE,
  CREATE_APPLICATION,
  LIST_APPLICATIONS_QUERY,
  UPDATE_APPLICATION,
} from './application.ts';
import { at, CARD_ID, MANAGEMENT_ID, OWNER_ID, PRIVATE_ID, PUBLIC_ID, TENANT_ID } from './example-names.ts';
import { EXPLAIN_ACCESS, EXPLANATION, TOKEN_PERMISSIONS } from './explanation.ts';
import type { Operation } from './operations.ts';
import { ENTITY_ID } from './patterns.ts';
import { MEASURE_REACH, REACH } from './reach.ts';

/** The path parameters of an operation on one application. */
export const APPLICATION_PARAMS = {
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  properties: { id: { ...ENTITY_ID, description: 'The id of the application.' } },
} as const;

const APPLICATION_COLUMNS = ['id', 'name', 'type', 'permissions', 'rules', 'created_at', 'expires_at'] as const;
/** Permissions and rules come first, because a narrow table drops columns from the right. */
const APPLICATION_LIST_COLUMNS = ['id', 'name', 'rules', 'permissions', 'type', 'created_at', 'expires_at'] as const;
const APPLICATION_FLAGS = { permissions: 'permission', rules: 'rule' } as const;

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

/** The operations on applications (§4.2). */
export const APPLICATION_OPERATIONS = {
  createApplication: {
    method: 'POST',
    path: '/applications',
    permission: 'application:create',
    orFlag: 'can_create_expiring_applications',
    body: CREATE_APPLICATION,
    result: APPLICATION,
    status: 201,
    summary: 'Create an application',
    audit: { code: 'ac', effect: ['application', 'upsert'] },
    conflicts: [],
    cli: {
      command: ['apps', 'create'],
      flags: APPLICATION_FLAGS,
      columns: [...APPLICATION_COLUMNS, 'key'],
      asks: ['name', 'type', 'permissions', 'rules'],
      byName: 'if-missing',
      examples: [
        'vault apps create --name web --type public --permission token:create',
        `vault apps create --name back --type private --key-out back.key \\\n    --rule 'container=/pci/ transform=reveal permissions=token:read'`,
        `vault apps create --name view --type expiring \\\n    --rule 'condition=id:equals:tok-1 transform=reveal permissions=token:read'`,
        'vault apps create --name back --type private --rule @rules.json',
        'vault apps create --if-missing --name web --type public --permission …',
      ],
    },
    examples: {
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
  },
  listApplications: {
    method: 'GET',
    path: '/applications',
    permission: 'application:read',
    query: LIST_APPLICATIONS_QUERY,
    result: APPLICATION_PAGE,
    status: 200,
    summary: 'List applications',
    audit: { code: 'al', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['apps', 'list'],
      columns: APPLICATION_LIST_COLUMNS,
      byName: 'filter',
      examples: [
        'vault apps list --all -o table',
        'vault apps list --name backend',
        'vault apps list --type private --type public',
        'vault apps list --id $ID --field data[0].name',
      ],
    },
    examples: {
      one: {
        summary: 'By id',
        query: { id: [PUBLIC_ID] },
        result: {
          pagination: { total_items: 1, page_number: 1, page_size: 20, total_pages: 1 },
          data: [PUBLIC_APPLICATION],
        },
      },
    },
  },
  getApplicationByKey: {
    method: 'GET',
    path: '/applications/key',
    permission: 'application:read',
    result: APPLICATION,
    status: 200,
    summary: 'Get the application of the calling key',
    audit: { code: 'ak', effect: 'none' },
    conflicts: [],
    cli: { command: ['apps', 'whoami'], columns: APPLICATION_COLUMNS, examples: ['vault apps whoami --field name'] },
    examples: {
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
  },
  getApplication: {
    method: 'GET',
    path: '/applications/{id}',
    permission: 'application:read',
    params: APPLICATION_PARAMS,
    result: APPLICATION,
    status: 200,
    summary: 'Get an application',
    audit: { code: 'ag', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['apps', 'get'],
      arguments: ['id'],
      columns: APPLICATION_COLUMNS,
      examples: ['vault apps get $ID'],
    },
    examples: {
      public: {
        summary: 'An application',
        params: { id: PUBLIC_ID },
        result: { ...PUBLIC_APPLICATION, expiring_applications: 0 },
      },
    },
  },
  explainAccess: {
    method: 'POST',
    path: '/applications/explain',
    permission: 'application:read',
    orOwn: true,
    body: EXPLAIN_ACCESS,
    result: EXPLANATION,
    status: 200,
    summary: 'Explain what an application sees',
    audit: { code: 'ax', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['apps', 'explain'],
      arguments: ['application_id'],
      flags: { token_id: 'token', ...APPLICATION_FLAGS },
      spread: 'application',
      columns: ['token_id', 'containers', 'permissions'],
      examples: [
        'vault apps explain backend --token $TOKEN',
        `vault apps explain backend --token $TOKEN \\\n    --rule 'container=/pci/ transform=mask permissions=token:read'`,
        `vault apps explain --type private --permission token:read --token $TOKEN`,
        'vault apps explain --token $TOKEN',
      ],
    },
    examples: {
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
  },
  measureReach: {
    method: 'POST',
    path: '/applications/reach',
    permission: 'application:read',
    body: MEASURE_REACH,
    result: REACH,
    status: 200,
    summary: 'Count the tokens that an application reads',
    audit: { code: 'am', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['apps', 'explain'],
      sharing: { with: 'explainAccess', flag: 'token', isAbsent: true },
      arguments: ['application_id'],
      flags: APPLICATION_FLAGS,
      spread: 'application',
      columns: ['reach'],
      examples: ['vault apps explain backend', 'vault apps explain --type private --permission token:read'],
    },
    examples: {
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
  },
  updateApplication: {
    method: 'PUT',
    path: '/applications/{id}',
    permission: 'application:update',
    params: APPLICATION_PARAMS,
    body: UPDATE_APPLICATION,
    result: APPLICATION,
    status: 200,
    summary: "Replace an application's name, permissions and rules",
    audit: { code: 'au', effect: ['application', 'upsert'] },
    conflicts: ['write_conflict'],
    cli: {
      command: ['apps', 'update'],
      arguments: ['id'],
      flags: APPLICATION_FLAGS,
      columns: APPLICATION_COLUMNS,
      replacesRights: true,
      examples: ['vault apps update $ID --name web --permission token:create'],
    },
    examples: {
      public: {
        summary: 'One more permission',
        params: { id: PUBLIC_ID },
        body: { name: 'checkout page', permissions: UPDATED_APPLICATION.permissions },
        result: { ...UPDATED_APPLICATION, modified_at: at('09:42') },
      },
    },
  },
  regenerateApplicationKey: {
    method: 'POST',
    path: '/applications/{id}/regenerate',
    permission: 'application:update',
    params: APPLICATION_PARAMS,
    result: APPLICATION,
    status: 200,
    summary: 'Replace the API key of an application',
    audit: { code: 'ar', effect: ['application', 'upsert'] },
    conflicts: ['write_conflict'],
    cli: {
      command: ['apps', 'regenerate'],
      arguments: ['id'],
      columns: [...APPLICATION_COLUMNS, 'key'],
      confirm: 'All API keys of {application} stop working at once. A new key replaces them.',
      examples: ['vault apps regenerate backend --key-out back.key', 'vault apps regenerate $ID --yes --field key'],
    },
    examples: {
      public: {
        summary: 'A new key',
        params: { id: PUBLIC_ID },
        result: { ...UPDATED_APPLICATION, key: exampleKey('D'), modified_at: at('09:43') },
      },
    },
  },
  deleteApplication: {
    method: 'DELETE',
    path: '/applications/{id}',
    permission: 'application:delete',
    params: APPLICATION_PARAMS,
    status: 204,
    summary: 'Delete an application; its tokens stay',
    audit: { code: 'ad', effect: ['application', 'remove'] },
    conflicts: ['write_conflict'],
    cli: {
      command: ['apps', 'delete'],
      arguments: ['id'],
      columns: [],
      several: true,
      confirm: 'All API keys of {application} stop working at once.',
      examples: ['vault apps delete $ID --yes', 'vault apps delete web backend'],
    },
    examples: { public: { summary: 'An application', params: { id: PUBLIC_ID } } },
  },
} as const satisfies Record<string, Operation>;
