import { APPLICATION_OPERATIONS } from './application-operations.ts';
import { LOG_OPERATIONS } from './log-operations.ts';
import { PERMISSION_OPERATIONS } from './permission-operations.ts';
import type { Permission } from './permissions.ts';
import type { ProblemCode } from './problems.ts';
import type { Infer, Schema } from './schema.ts';
import { TENANT_OPERATIONS } from './tenant-operations.ts';
import { TOKEN_OPERATIONS } from './token-operations.ts';

/**
 * One endpoint, as data. HTTP routes, OpenAPI, validators, both clients, the CLI subcommand, the audit and the permission
 * matrix follow from the row. In `path`, `{name}` is a member of `params`. A row without `body` takes no body, one without
 * `result` answers 204.
 */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: `/${string}`;
  /** Absent: any valid key. */
  readonly permission?: Permission;
  /** A member of the calling application that replaces the permission; the handler decides how far it goes. */
  readonly orFlag?: 'can_create_expiring_applications';
  readonly params?: Schema;
  readonly query?: Schema;
  readonly body?: Schema;
  /** The media type of `body`; `application/json` unless the specification names another (§4). */
  readonly mediaType?: 'application/json' | 'application/merge-patch+json';
  readonly result?: Schema;
  readonly status: 200 | 201 | 204;
  readonly summary: string;
  readonly audit: AuditFacts;
  /** The problems with status 409 that it answers with. */
  readonly conflicts: readonly ProblemCode[];
  readonly cli: OperationCli;
  /** Examples for the OpenAPI document, by name. A test plays them on one vault, so all rows form one story. */
  readonly examples: Readonly<Record<string, Example>>;
}

/** The audit's record of an action. */
export interface AuditFacts {
  /** Two letters, unique. Vault files contain it: it never changes and is never reused. */
  readonly code: string;
  /**
   * The effect of a success on the records that the event names; `vault doctor` compares them with the rows of the
   * file.
   */
  readonly effect:
    | 'none'
    | readonly ['header' | 'tenant' | 'tenant_key' | 'application' | 'token', 'upsert' | 'remove'];
  /** Only its denials are recorded, at any level: it reads the audit. */
  readonly denialsOnly?: true;
}

/** One request and its answer. */
export interface Example {
  readonly summary: string;
  readonly params?: Readonly<Record<string, string>>;
  /** As the row's query schema describes it. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Absent where the operation answers 204. */
  readonly result?: unknown;
}

/** Facts for the CLI that the schemas do not have. */
export interface OperationCli {
  /** The words of the subcommand: noun and verb, or one word. */
  readonly command: readonly [string] | readonly [string, string];
  /** Members of `params`, then of the body, that are arguments, in order. */
  readonly arguments?: readonly string[];
  /** Flags whose name is not the member in kebab-case: the singular of a repeatable one. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The operation that `--all` calls: the same list by cursor. */
  readonly walk?: 'listTokensByCursor' | 'searchTokensByCursor' | 'listLogs';
  /** Members shown as columns of a table. */
  readonly columns: readonly string[];
  /** A member of the body whose own members have flags. */
  readonly spread?: string;
  /** Asks before the operation: the loss. */
  readonly confirm?: string;
  /** Members that are asked for on a terminal, in this order, when no member is given. */
  readonly asks?: readonly string[];
  /** Complete command lines, shown by `--help`. */
  readonly examples: readonly string[];
}

/** Whether calls of the operation may have an idempotency key. The others, which change nothing, ignore it. */
export function takesIdempotencyKey({ method, audit }: Operation): boolean {
  return (method === 'POST' || method === 'PUT' || method === 'PATCH') && audit.effect !== 'none';
}

/** THE TABLE: every endpoint of the API, once. */
export const OPERATIONS = {
  ...TOKEN_OPERATIONS,
  ...APPLICATION_OPERATIONS,
  ...TENANT_OPERATIONS,
  ...PERMISSION_OPERATIONS,
  ...LOG_OPERATIONS,
} as const;

export type OperationId = keyof typeof OPERATIONS;

type Row<Id extends OperationId> = (typeof OPERATIONS)[Id];
type Part<Id extends OperationId, Name extends string> =
  Row<Id> extends { readonly [K in Name]: infer S } ? Infer<S> : undefined;

export type ParamsOf<Id extends OperationId> = Part<Id, 'params'>;
export type QueryOf<Id extends OperationId> = Part<Id, 'query'>;
export type BodyOf<Id extends OperationId> = Part<Id, 'body'>;
export type ResultOf<Id extends OperationId> = Part<Id, 'result'>;
