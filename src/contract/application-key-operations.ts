import { APPLICATION_KEY, APPLICATION_KEYS, CREATE_APPLICATION_KEY } from './application-key.ts';
import { APPLICATION_PARAMS } from './application-operations.ts';
import type { Operation } from './operations.ts';
import { ENTITY_ID } from './schema.ts';

const KEY_PARAMS = {
  ...APPLICATION_PARAMS,
  required: ['id', 'key_id'],
  properties: {
    ...APPLICATION_PARAMS.properties,
    key_id: { ...ENTITY_ID, description: 'The id of the key.' },
  },
} as const;

const KEY_COLUMNS = ['id', 'version', 'created_at', 'expires_at', 'last_used_on', 'created_by'] as const;

/** The operations on the API keys of an application (search-and-batches.md §9). */
export const APPLICATION_KEY_OPERATIONS = {
  createApplicationKey: {
    method: 'POST',
    path: '/applications/{id}/keys',
    permission: 'application:update',
    params: APPLICATION_PARAMS,
    body: CREATE_APPLICATION_KEY,
    bodyOptional: true,
    result: APPLICATION_KEY,
    status: 201,
    summary: 'Create another API key of an application',
    audit: { code: 'yc', effect: ['application_key', 'upsert'] },
    conflicts: ['too_many_keys', 'write_conflict'],
    cli: {
      command: ['apps', 'keys', 'create'],
      columns: ['id', 'version', 'created_at', 'expires_at', 'key'],
      examples: [
        'vault apps keys create $ID --key-out back.key',
        'vault apps keys create $ID --expires-at 2027-03-01 --field key',
      ],
    },
  },
  listApplicationKeys: {
    method: 'GET',
    path: '/applications/{id}/keys',
    permission: 'application:read',
    params: APPLICATION_PARAMS,
    result: APPLICATION_KEYS,
    status: 200,
    summary: 'List the API keys of an application',
    audit: { code: 'yl', effect: 'none', entity: 'application_key' },
    cli: {
      command: ['apps', 'keys', 'list'],
      columns: KEY_COLUMNS,
      examples: ['vault apps keys list $ID -o table'],
    },
  },
  getApplicationKey: {
    method: 'GET',
    path: '/applications/{id}/keys/{key_id}',
    permission: 'application:read',
    params: KEY_PARAMS,
    result: APPLICATION_KEY,
    status: 200,
    summary: 'Get an API key of an application',
    audit: { code: 'yg', effect: 'none', entity: 'application_key' },
    cli: {
      command: ['apps', 'keys', 'get'],
      hints: { invalid_request: 'list the ids with `vault apps keys list NAME`' },
      columns: KEY_COLUMNS,
      examples: ['vault apps keys get $ID $KEY_ID --field last_used_on'],
    },
  },
  deleteApplicationKey: {
    method: 'DELETE',
    path: '/applications/{id}/keys/{key_id}',
    permission: 'application:update',
    params: KEY_PARAMS,
    status: 204,
    summary: 'Delete an API key of an application',
    audit: { code: 'yd', effect: ['application_key', 'remove'] },
    conflicts: ['write_conflict'],
    cli: {
      command: ['apps', 'keys', 'delete'],
      hints: { invalid_request: 'list the ids with `vault apps keys list NAME`' },
      columns: [],
      confirm: 'The API key {key_id} of {application} stops working at once.',
      examples: ['vault apps keys delete $ID $KEY_ID --yes'],
    },
  },
} as const satisfies Record<string, Operation>;
