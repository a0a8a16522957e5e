import type { OperationId } from '../../operations.ts';
import { APPLICATION_EXAMPLES } from './application.ts';
import { APPLICATION_KEY_EXAMPLES } from './application-key.ts';
import { LOG_EXAMPLES } from './log.ts';
import { PERMISSION_EXAMPLES } from './permission.ts';
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
  ...PERMISSION_EXAMPLES,
  ...LOG_EXAMPLES,
};
