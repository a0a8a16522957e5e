import type { Examples } from './examples.ts';

/** The examples of the operations on permissions. */
export const PERMISSION_EXAMPLES = {
  listPermissions: {
    expiring: {
      summary: 'Permissions of expiring applications',
      query: { application_type: 'expiring' },
      result: [{ type: 'token:read', description: 'Get and list tokens', application_types: ['private', 'expiring'] }],
    },
  },
} as const satisfies Partial<Examples>;
