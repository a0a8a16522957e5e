import { PAGE_QUERY, PAGINATION } from './page.ts';
import { ACCESS_RULE, APPLICATION_TYPES, type ApplicationType, PERMISSION_NAME } from './permissions.ts';
import {
  API_KEY,
  CHANGE_NAMES,
  CHANGES,
  ENTITY_ID,
  type Infer,
  NAME,
  OWN_TENANT_ID,
  object,
  readOnly,
  TIME,
} from './schema.ts';

const TYPE = {
  enum: Object.keys(APPLICATION_TYPES) as ApplicationType[],
  description: 'The purpose of the application, which determines the permissions that it may hold.',
} as const;

const PERMISSION_LIST = {
  type: 'array',
  items: PERMISSION_NAME,
  maxItems: 50,
  uniqueItems: true,
  description:
    'Plain permissions: management permissions, or permissions on every token with the transform mask. With plain token:update the application may set the mask of any token; with a rule it may do so only if the rule reveals.',
} as const;

const RULES = {
  type: 'array',
  items: ACCESS_RULE,
  maxItems: 50,
  description:
    'Access rules, tried in ascending priority. The first rule that matches the token and grants the permission decides.',
} as const;

const CAN_CREATE_EXPIRING = {
  type: 'boolean',
  description: 'Whether a private application may create expiring applications, limited to its own access.',
} as const;

/** The Application (§2.4). Only create and regenerate return `key`. */
export const APPLICATION = object(['id', 'tenant_id', 'name', 'type', 'permissions', 'rules'], {
  id: { ...ENTITY_ID, description: 'The id of the application.' },
  tenant_id: OWN_TENANT_ID,
  name: { ...NAME, description: 'The display name of the application.' },
  key: { type: 'string', pattern: API_KEY, description: 'The API key. It is shown only once.' },
  type: TYPE,
  permissions: PERMISSION_LIST,
  rules: RULES,
  ...CHANGES,
  expires_at: { ...TIME, description: 'The expiry of an expiring application.' },
  can_create_expiring_applications: CAN_CREATE_EXPIRING,
  expiring_applications: {
    type: 'integer',
    minimum: 0,
    description:
      'The number of valid expiring applications that it created. They end with its API key. Only Get an application returns it.',
  },
});

export const APPLICATION_PAGE = object(['pagination', 'data'], {
  pagination: PAGINATION,
  data: { type: 'array', items: APPLICATION, description: 'The applications of the page, newest first.' },
});

export const CREATE_APPLICATION = object(['name', 'type'], {
  name: { ...NAME, description: 'The display name of the application.' },
  type: TYPE,
  permissions: PERMISSION_LIST,
  rules: RULES,
  expires_at: {
    type: 'string',
    maxLength: 64,
    description: 'For expiring applications: ISO 8601, at most one day ahead. Default: one minute ahead.',
  },
  can_create_expiring_applications: CAN_CREATE_EXPIRING,
  create_key: {
    type: 'boolean',
    description: 'Whether to create an API key, too. Default: true. Expiring applications always have one.',
  },
});

/** Update Application (§4.2): an omitted member is removed. The handler checks an explicit empty `permissions`. */
export const UPDATE_APPLICATION = object(['name'], {
  name: CREATE_APPLICATION.properties.name,
  permissions: {
    ...PERMISSION_LIST,
    description: `${PERMISSION_LIST.description} An empty list is accepted only together with \`id\` and \`rules\`, as in an application that was read.`,
  },
  rules: RULES,
  can_create_expiring_applications: CAN_CREATE_EXPIRING,
  ...readOnly(APPLICATION.properties, ['id', 'tenant_id', 'type', ...CHANGE_NAMES, 'expires_at']),
  expiring_applications: { type: 'integer', minimum: 0, description: 'Read-only: ignored.', readOnly: true },
});

export const LIST_APPLICATIONS_QUERY = object([], {
  id: { type: 'array', items: ENTITY_ID, maxItems: 100, description: 'Only applications with these ids.' },
  type: { type: 'array', items: TYPE, maxItems: 100, description: 'Only applications of these types.' },
  ...PAGE_QUERY,
});

export type Application = Infer<typeof APPLICATION>;
export type CreateApplication = Infer<typeof CREATE_APPLICATION>;
