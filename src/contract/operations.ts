import { APPLICATION_OPERATIONS } from './application-operations.ts';
import { LOG_OPERATIONS } from './log-operations.ts';
import { PERMISSION_OPERATIONS } from './permission-operations.ts';
import type { Permission } from './permissions.ts';
import type { ProblemCode } from './problems.ts';
import type { Infer, Schema } from './schema.ts';
import { TENANT_OPERATIONS } from './tenant-operations.ts';
import { TOKEN_OPERATIONS } from './token-operations.ts';

/**
 * One endpoint, as data. HTTP routes, OpenAPI, validators, both clients, the CLI subcommand, the audit and the
 * permission matrix follow from the row. In `path`, `{name}` is a member of `params`. A row without `body` accepts no
 * body; a row without `result` returns 204.
 */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: `/${string}`;
  /** Any valid key is enough when this is absent. */
  readonly permission?: Permission;
  /** A member of the calling application that replaces the permission; the handler decides how much it allows. */
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
  /** The problems with status 409 that the operation returns. */
  readonly conflicts: readonly ProblemCode[];
  readonly cli: OperationCli;
  /** Examples for the OpenAPI document, by name. A test runs them on one vault, so all rows form one story. */
  readonly examples: Readonly<Record<string, Example>>;
}

/** The audit's record of an action. */
export interface AuditFacts {
  /** Two letters, unique. Vault files contain it: it never changes and is never reused. */
  readonly code: string;
  /**
   * The effect of a success on the records that the event names. `vault doctor` compares the records with the rows of
   * the file.
   */
  readonly effect:
    | 'none'
    | readonly ['header' | 'tenant' | 'tenant_key' | 'application' | 'token', 'upsert' | 'remove'];
  /** Records only denials, at any level: the operation reads the audit. */
  readonly denialsOnly?: true;
}

/** One request and its answer. */
export interface Example {
  readonly summary: string;
  readonly params?: Readonly<Record<string, string>>;
  /** In the form of the row's query schema. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Absent when the operation returns 204. */
  readonly result?: unknown;
}

/** Facts for the CLI that the schemas lack. */
export interface OperationCli {
  /** The words of the subcommand: noun and verb, or one word. */
  readonly command: readonly [string] | readonly [string, string];
  /** Members of `params`, then of the body, that become arguments, in order. */
  readonly arguments?: readonly string[];
  /** Flags that are not the member's name in kebab-case, such as the singular of a repeatable one. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The operation that `--all` calls: the same list by cursor. */
  readonly walk?: 'listTokensByCursor' | 'searchTokensByCursor' | 'listLogs';
  /** Members shown as columns of a table. */
  readonly columns: readonly string[];
  /** A body member that is an object and has one flag for each of its members. */
  readonly spread?: string;
  /** The question before the operation runs: what will be lost. */
  readonly confirm?: string;
  /** Members that a terminal prompts for, in this order, when no member is given. */
  readonly asks?: readonly string[];
  /** Complete command lines, shown by `--help`. */
  readonly examples: readonly string[];
}

/** Returns whether calls of the operation may have an idempotency key. Reads ignore it. */
export function takesIdempotencyKey({ method, audit }: Operation): boolean {
  return (method === 'POST' || method === 'PUT' || method === 'PATCH') && audit.effect !== 'none';
}

/** Every endpoint of the API, once. */
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
