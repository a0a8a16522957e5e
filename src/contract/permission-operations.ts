import { PERMISSION_NAME } from './access-rule.ts';
import type { Operation } from './operations.ts';
import { APPLICATION_TYPES, type ApplicationType } from './permissions.ts';
import { object } from './schema.ts';

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
