import { APPLICATION_KEY, APPLICATION_KEYS, CREATE_APPLICATION_KEY } from './application-key.ts';
import { APPLICATION_PARAMS, exampleKey } from './application-operations.ts';
import { at, MANAGEMENT_ID, PUBLIC_ID } from './example-names.ts';
import type { Operation } from './operations.ts';
import { ENTITY_ID } from './patterns.ts';

const KEY_PARAMS = {
  ...APPLICATION_PARAMS,
  required: ['id', 'key_id'],
  properties: {
    ...APPLICATION_PARAMS.properties,
    key_id: { ...ENTITY_ID, description: 'The id of the key.' },
  },
} as const;

const FIRST_KEY_ID = '3f1b6c5e-0f0b-4c8a-9a53-5d7c1f0a2b41';
const KEY_ID = 'c1d1a4f0-5b1e-4f57-8d64-6a1f6d3c9e72';
const KEY_COLUMNS = ['id', 'version', 'created_at', 'expires_at', 'last_used_on', 'created_by'] as const;

const NEXT_KEY = { id: KEY_ID, version: '3', created_by: MANAGEMENT_ID, created_at: at('09:44') };
const LISTED_KEYS = [NEXT_KEY, { id: FIRST_KEY_ID, version: '2', created_by: MANAGEMENT_ID, created_at: at('09:43') }];

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
      arguments: ['id'],
      columns: ['id', 'version', 'created_at', 'expires_at', 'key'],
      examples: [
        'vault apps keys create $ID --key-out back.key',
        'vault apps keys create $ID --expires-at 2027-03-01 --field key',
      ],
    },
    examples: {
      next: {
        summary: 'A second key, before the first one is deleted',
        params: { id: PUBLIC_ID },
        result: { id: KEY_ID, version: '3', key: exampleKey('E'), created_by: MANAGEMENT_ID, created_at: at('09:44') },
      },
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
    audit: { code: 'yl', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['apps', 'keys', 'list'],
      arguments: ['id'],
      columns: KEY_COLUMNS,
      examples: ['vault apps keys list $ID -o table'],
    },
    examples: { public: { summary: 'Two keys', params: { id: PUBLIC_ID }, result: LISTED_KEYS } },
  },
  getApplicationKey: {
    method: 'GET',
    path: '/applications/{id}/keys/{key_id}',
    permission: 'application:read',
    params: KEY_PARAMS,
    result: APPLICATION_KEY,
    status: 200,
    summary: 'Get an API key of an application',
    audit: { code: 'yg', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['apps', 'keys', 'get'],
      arguments: ['id', 'key_id'],
      columns: KEY_COLUMNS,
      examples: ['vault apps keys get $ID $KEY_ID --field last_used_on'],
    },
    examples: { next: { summary: 'A key', params: { id: PUBLIC_ID, key_id: KEY_ID }, result: NEXT_KEY } },
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
      arguments: ['id', 'key_id'],
      columns: [],
      confirm: 'The API key {key_id} of {application} stops working at once.',
      examples: ['vault apps keys delete $ID $KEY_ID --yes'],
    },
    examples: { first: { summary: 'The first key', params: { id: PUBLIC_ID, key_id: FIRST_KEY_ID } } },
  },
} as const satisfies Record<string, Operation>;
