import { at, MANAGEMENT_ID, PRIVATE_ID, TENANT_ID } from '../../example-names.ts';
import type { Examples } from './examples.ts';

/** The examples of the operations on the log. */
export const LOG_EXAMPLES = {
  listLogs: {
    application: {
      summary: 'The entries about an application',
      query: { entity_id: PRIVATE_ID, size: 1 },
      result: {
        pagination: { page_size: 1 },
        data: [
          {
            id: '3.1',
            tenant_id: TENANT_ID,
            actor_id: MANAGEMENT_ID,
            actor_name: 'management',
            actor_type: 'application',
            actor_key_id: '7d0c6a52-93f6-4c0e-8f5c-2b6f5d1f9a10',
            entity_name: 'backend',
            entity_type: 'application',
            entity_id: PRIVATE_ID,
            operation: 'createApplication',
            message: 'Create an application.',
            status: 201,
            revealed: false,
            created_at: at('09:31'),
          },
        ],
      },
    },
  },
} as const satisfies Partial<Examples>;
