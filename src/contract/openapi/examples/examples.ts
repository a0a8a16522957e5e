import { at, MANAGEMENT_ID, PRIVATE_ID, TENANT_ID } from '../../example-names.ts';
import type { OperationId } from '../../operations.ts';
import { APPLICATION_EXAMPLES } from './application.ts';
import { APPLICATION_KEY_EXAMPLES } from './application-key.ts';
import { TENANT_EXAMPLES } from './tenant.ts';
import { TOKEN_EXAMPLES } from './token.ts';

/** A request and its result. */
export interface Example {
  readonly summary: string;
  readonly params?: Readonly<Record<string, string>>;
  /** The query, in the form of the operation's query schema. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** The result; absent when the operation returns 204. */
  readonly result?: unknown;
}

/** Examples by operation and name. */
export type Examples = Readonly<Record<OperationId, Readonly<Record<string, Example>>>>;

/**
 * The examples for the OpenAPI document, which clients do not load. A test runs them on one vault, so the examples of all
 * operations form one story.
 */
export const EXAMPLES: Examples = {
  ...TOKEN_EXAMPLES,
  ...APPLICATION_EXAMPLES,
  ...APPLICATION_KEY_EXAMPLES,
  ...TENANT_EXAMPLES,
  listPermissions: {
    expiring: {
      summary: 'Permissions of expiring applications',
      query: { application_type: 'expiring' },
      result: [{ type: 'token:read', description: 'Get and list tokens', application_types: ['private', 'expiring'] }],
    },
  },
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
};
