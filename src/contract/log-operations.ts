import type { Operation } from './operations.ts';
import { PAGE_QUERY } from './page.ts';
import { ENTITY_ID, NAME, OWN_TENANT_ID, object, PLAIN_TEXT, TIME } from './schema.ts';

/**
 * The id of a log entry: `SEQUENCE.N` as in `vault audit list`. A third number, `.K`, distinguishes the entities of one
 * event.
 */
const LOG_ID = {
  type: 'string',
  pattern: '^\\d{1,15}\\.\\d{1,9}(\\.\\d{1,9})?$',
  examples: ['57.1'],
} as const;

const CURSOR = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' } as const;

const TOKEN_OR_APPLICATION_ID = { type: 'string', minLength: 1, maxLength: 400, pattern: PLAIN_TEXT } as const;

const ENTITY_TYPE = { type: 'string', enum: ['token', 'application', 'application_key', 'tenant', 'vault'] } as const;

const DATE = { type: 'string', minLength: 1, maxLength: 64 } as const;

/** A log entry: an event and one of its entities. */
const LOG_ENTRY = object(
  ['id', 'tenant_id', 'actor_type', 'entity_type', 'operation', 'message', 'status', 'revealed', 'created_at'],
  {
    id: { ...LOG_ID, description: 'The id of the entry.' },
    tenant_id: OWN_TENANT_ID,
    actor_id: {
      ...ENTITY_ID,
      description: 'The calling application; absent for actions of the vault or its operator.',
    },
    actor_name: { ...NAME, description: 'The name of the calling application at that time.' },
    actor_type: {
      enum: ['application', 'vault'],
      description: 'Whether an application called, or the vault or its operator acted.',
    },
    actor_key_id: {
      ...ENTITY_ID,
      description: 'The API key of the call; absent for actions of the vault or its operator.',
    },
    entity_name: {
      ...NAME,
      description: 'The name of the application at that time, also for its API keys. Failed calls have none.',
    },
    entity_type: { ...ENTITY_TYPE, description: 'The type of the affected entity.' },
    entity_id: { type: 'string', description: 'The id of the affected entity; absent when the call named no entity.' },
    operation: { type: 'string', description: 'The operation, or an action on the file such as `expireToken`.' },
    message: { type: 'string', description: 'The operation in words.' },
    status: { type: 'integer', minimum: 200, maximum: 599, description: 'The HTTP status of the reply.' },
    revealed: { type: 'boolean', description: 'Whether the reply showed plaintext.' },
    created_at: { ...TIME, description: 'The time of the event.' },
  },
);

/** The operations on the log (search-and-batches.md §7). */
export const LOG_OPERATIONS = {
  listLogs: {
    method: 'GET',
    path: '/logs',
    permission: 'log:read',
    query: object([], {
      entity_type: { ...ENTITY_TYPE, description: 'Only entries about entities of this type.' },
      entity_id: {
        ...TOKEN_OR_APPLICATION_ID,
        description: 'Only entries about this token, application, API key or tenant.',
      },
      actor_id: { ...ENTITY_ID, description: 'Only calls of this application.' },
      operation: { type: 'string', maxLength: 64, description: 'Only entries of this operation, such as getToken.' },
      denied: {
        type: 'boolean',
        description: 'Only denied calls (true), or only calls that were not denied (false).',
      },
      start_date: { ...DATE, description: 'Only entries from this ISO 8601 date or date-time on.' },
      end_date: { ...DATE, description: 'Only entries before this ISO 8601 date or date-time.' },
      page: {
        ...PAGE_QUERY.page,
        description: 'Page number, from 1. `page` times `size` is at most 10000; `start` reaches older entries.',
      },
      size: PAGE_QUERY.size,
      start: { ...CURSOR, description: 'The `next` of the previous page, for older entries.' },
      after: { ...LOG_ID, description: 'Only entries newer than the entry with this id.' },
      wait: {
        type: 'integer',
        minimum: 0,
        maximum: 25,
        description: 'Seconds to wait for an entry newer than `after` when there is none.',
      },
    }),
    result: object(['pagination', 'data'], {
      pagination: {
        description: 'The cursor of older entries.',
        ...object(['page_size'], {
          page_size: PAGE_QUERY.size,
          next: { ...CURSOR, description: 'The cursor of older entries. Absent at the end.' },
          searched_to: {
            ...TIME,
            description:
              'The time of the last entry that the search examined. Present if the search stopped before the page was full; `next` continues it.',
          },
        }),
      },
      data: { type: 'array', items: LOG_ENTRY, description: 'The entries of the page, newest first.' },
    }),
    status: 200,
    summary: 'List the audit log of the tenant',
    audit: { code: 'll', effect: 'none', denialsOnly: true },
    cli: {
      command: ['audit', 'list'],
      flags: { actor_id: 'actor', entity_id: 'entity', start_date: 'since', end_date: 'until', size: 'limit' },
      walk: 'listLogs',
      keyHolder: true,
      exactTimes: true,
      emptyNote: 'no entries; masked reads need --audit all, and --audit mutations omits denials and reveals',
      emptyHints: { entity_id: '--entity finds a deleted application only by its id' },
      columns: [
        'created_at',
        'operation',
        'status',
        'actor_name',
        'entity_name',
        'entity_id',
        'entity_type',
        'revealed',
        'actor_id',
        'tenant_id',
        'id',
      ],
      examples: [
        'vault audit list --entity backend --entity-type application',
        'vault audit list --actor backend --denied --since 24h',
        'vault audit list --all --operation deleteToken -o csv',
        'vault audit list --follow',
      ],
    },
  },
} as const satisfies Record<string, Operation>;
