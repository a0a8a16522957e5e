import {
  APPLICATION,
  APPLICATION_PAGE,
  CREATE_APPLICATION,
  LIST_APPLICATIONS_QUERY,
  UPDATE_APPLICATION,
} from './application.ts';
import { EXPLAIN_ACCESS, EXPLANATION, MEASURE_REACH, REACH } from './explanation.ts';
import type { Operation } from './operations.ts';
import { APPLICATION_TYPES, type ApplicationType, PERMISSION_NAME } from './permissions.ts';
import { ENTITY_ID, object } from './schema.ts';

const NEEDS_READER = 'use the API key of a management application with application:read';

/** The path parameters of an operation on one application. */
export const APPLICATION_PARAMS = object(['id'], { id: { ...ENTITY_ID, description: 'The id of the application.' } });

const APPLICATION_COLUMNS = ['id', 'name', 'type', 'permissions', 'rules', 'created_at', 'expires_at'] as const;

/** Permissions and rules come first, because a narrow table drops columns from the right. */
const APPLICATION_LIST_COLUMNS = ['id', 'name', 'rules', 'permissions', 'type', 'created_at', 'expires_at'] as const;

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
    cli: {
      command: ['apps', 'create'],
      columns: [...APPLICATION_COLUMNS, 'key'],
      asks: ['name', 'type', 'permissions', 'rules'],
      byName: 'if-missing',
      examples: [
        'vault apps create --name web --type public --permission token:create',
        `vault apps create --name back --type private --key-out back.key \\\n    --rule 'container=/pci/ transform=reveal permissions=token:read'`,
        `vault apps create --name view --type expiring \\\n    --rule 'condition=id:equals:tok-1 transform=reveal permissions=token:read'`,
        'vault apps create --name back --type private --rule @rules.json',
        'vault apps create --if-missing --name web --type public \\\n    --permission token:create',
      ],
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
    cli: {
      command: ['apps', 'list'],
      columns: APPLICATION_LIST_COLUMNS,
      byName: 'filter',
      hints: { permission_missing: NEEDS_READER },
      examples: [
        'vault apps list --all -o table',
        'vault apps list --name backend',
        'vault apps list --type private --type public',
        'vault apps list --id $ID --field data[0].name',
      ],
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
    cli: {
      command: ['apps', 'whoami'],
      columns: APPLICATION_COLUMNS,
      hints: {
        permission_missing: `${NEEDS_READER}; \`vault apps explain --token ID\` shows what this key may do with a token`,
      },
      examples: ['vault apps whoami --field name'],
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
    cli: {
      command: ['apps', 'get'],
      columns: APPLICATION_COLUMNS,
      examples: ['vault apps get $ID'],
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
    audit: { code: 'ax', effect: 'none', entity: 'token' },
    cli: {
      command: ['apps', 'explain'],
      arguments: ['application_id'],
      flags: { token_id: 'token' },
      spread: 'application',
      columns: ['permissions'],
      examples: [
        'vault apps explain backend --token $TOKEN',
        `vault apps explain backend --token $TOKEN \\\n    --rule 'container=/pci/ transform=mask permissions=token:read'`,
        `vault apps explain --type private --permission token:read --token $TOKEN`,
        'vault apps explain --token $TOKEN',
      ],
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
    cli: {
      command: ['apps', 'explain'],
      sharing: { with: 'explainAccess', flag: 'token', isAbsent: true },
      arguments: ['application_id'],
      spread: 'application',
      columns: ['reach'],
      examples: ['vault apps explain backend', 'vault apps explain --type private --permission token:read'],
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
      columns: APPLICATION_COLUMNS,
      replacesRights: true,
      hints: { invalid_request: 'an update replaces all members; use `vault apps edit` to keep the others' },
      examples: ['vault apps update $ID --name web --permission token:create'],
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
      columns: [...APPLICATION_COLUMNS, 'key'],
      confirm: 'All API keys of {application} stop working at once. A new key replaces them.',
      examples: ['vault apps regenerate backend --key-out back.key', 'vault apps regenerate $ID --yes --field key'],
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
      columns: [],
      several: true,
      confirm: 'All API keys of {application} stop working at once.',
      examples: ['vault apps delete $ID --yes', 'vault apps delete web backend'],
    },
  },
} as const satisfies Record<string, Operation>;

const APPLICATION_TYPE = { enum: Object.keys(APPLICATION_TYPES) as ApplicationType[] } as const;

/** The operations on permissions (search-and-batches.md §6). */
export const PERMISSION_OPERATIONS = {
  listPermissions: {
    method: 'GET',
    path: '/permissions',
    query: object([], {
      application_type: {
        type: 'string',
        ...APPLICATION_TYPE,
        description: 'Only permissions that an application of this type may hold.',
      },
    }),
    result: {
      type: 'array',
      items: object(['type', 'description', 'application_types'], {
        type: PERMISSION_NAME,
        description: { type: 'string', description: 'The operations that the permission allows.' },
        application_types: {
          type: 'array',
          items: APPLICATION_TYPE,
          description: 'The types of applications that may hold the permission.',
        },
      }),
    },
    status: 200,
    summary: 'List permissions',
    audit: { code: 'pl', effect: 'none' },
    cli: {
      command: ['apps', 'permissions'],
      columns: ['type', 'application_types', 'description'],
      examples: ['vault apps permissions --application-type private -o table'],
    },
  },
} as const satisfies Record<string, Operation>;
