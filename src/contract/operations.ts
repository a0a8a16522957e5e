import { APPLICATION_KEY_OPERATIONS } from './application-key-operations.ts';
import { APPLICATION_OPERATIONS, PERMISSION_OPERATIONS } from './application-operations.ts';
import { LOG_OPERATIONS } from './log-operations.ts';
import type { Permission } from './permissions.ts';
import type { ProblemCode } from './problems.ts';
import type { Infer, Schema } from './schema.ts';
import { TENANT_OPERATIONS } from './tenant.ts';
import { TOKEN_OPERATIONS } from './token-operations.ts';

/**
 * An operation of the API, as data. HTTP routes, OpenAPI, validators, both clients, the CLI subcommand, the audit and
 * the permission matrix derive from it. In `path`, `{name}` is a member of `params`. An operation without `body`
 * accepts no body; one without `result` returns 204.
 */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: `/${string}`;
  /** The required permission. When it is absent, any valid API key is enough. */
  readonly permission?: Permission;
  /** A flag of the calling application that replaces the permission. The handler decides how much the flag allows. */
  readonly orFlag?: 'can_create_expiring_applications';
  /** Whether a body without an application concerns the caller and needs no permission. The handler checks the others. */
  readonly orOwn?: true;
  readonly params?: Schema;
  readonly query?: Schema;
  readonly body?: Schema;
  /** Whether a call may omit the body. */
  readonly bodyOptional?: true;
  /** The media type of `body`. Default: `application/json`; the specification names the exceptions (§4). */
  readonly mediaType?: 'application/json' | 'application/merge-patch+json';
  readonly result?: Schema;
  readonly status: 200 | 201 | 204;
  readonly summary: string;
  /** Facts that its callers must know, in sentences, as the first lines of its documentation. */
  readonly note?: string;
  readonly audit: AuditFacts;
  /** The problems with status 409 that the operation returns. Default: none. */
  readonly conflicts?: readonly ProblemCode[];
  readonly cli: OperationCli;
}

/** The facts that the audit needs about an action. */
export interface AuditFacts {
  /** Two letters, unique. Vault files contain the code, so it never changes and is never reused. */
  readonly code: string;
  /**
   * The effect of a successful call on the records that the event names. `vault doctor` compares these records with the
   * rows of the file.
   */
  readonly effect:
    | 'none'
    | readonly ['header' | 'tenant' | 'tenant_key' | 'application' | 'application_key' | 'token', 'upsert' | 'remove'];
  /** The type of the records that the event names. Default: the resource of the permission. */
  readonly entity?: 'token' | 'application_key';
  /** Whether only denials are recorded, at any level, because the operation itself reads the audit. */
  readonly denialsOnly?: true;
}

/** The facts for the CLI that the schemas do not contain. */
export interface OperationCli {
  /** The words of the subcommand: noun and verb, one word, or noun, noun and verb. */
  readonly command: readonly [string] | readonly [string, string] | readonly [string, string, string];
  /**
   * The operation whose command it shares, and the flag that chooses this one when it is given, or absent. The flag is a
   * member of one of the two, or a switch.
   */
  readonly sharing?: { readonly with: string; readonly flag: string; readonly isAbsent?: true };
  /** The members of the body that become arguments, after those of `params`. */
  readonly arguments?: readonly string[];
  /** Other names of flags than the default: the member in kebab-case, in the singular for a list. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The operation that `--all` calls to read the same list by cursor. */
  readonly walk?: 'listTokensByCursor' | 'searchTokensByCursor' | 'listLogs';
  /** The members to show as columns of a table. */
  readonly columns: readonly string[];
  /** Whether the result is a document with tokens at any depth, whose ids `--quiet` prints. */
  readonly holdsTokens?: true;
  /** The name of a body member that is an object. Each of its members gets a flag. */
  readonly spread?: string;
  /**
   * The consequence of the operation, for which the CLI asks for confirmation. `{token}`, `{application}` or `{tenant}`
   * is its record; `{key_id}` is that member of `params`.
   */
  readonly confirm?: string;
  /** Whether the body replaces the rights of an application, so that the CLI warns about those which it removes. */
  readonly replacesRights?: true;
  /** Whether the CLI takes several values for the last member of `params`, and makes a call for each. */
  readonly several?: true;
  /**
   * The flag by which the CLI uses the name of an application, which the API does not search for: `--name` filters the
   * list, and `--if-missing` creates an application only if none has the name.
   */
  readonly byName?: 'filter' | 'if-missing';
  /**
   * Hints for problems. That for `invalid_request` appears only if an error names a member that the body lacks, such as a
   * path parameter.
   */
  readonly hints?: Readonly<Partial<Record<ProblemCode, string>>>;
  /** Whether the holder of the vault's key runs the command on a file or a database without an API key. */
  readonly keyHolder?: true;
  /** Whether a table shows times with seconds and their zone. */
  readonly exactTimes?: true;
  /** The remark on an empty list. */
  readonly emptyNote?: string;
  /** Additions to the remark on an empty list, by the member that the user typed. */
  readonly emptyHints?: Readonly<Record<string, string>>;
  /** The members that the CLI asks for in a terminal, in this order, when no member is given. */
  readonly asks?: readonly string[];
  /** Complete command lines, which `--help` prints. */
  readonly examples: readonly string[];
}

/** Returns the words of the command that runs an operation, with the flag that chooses it. */
export function commandWords({ cli: { command, sharing } }: Operation): readonly string[] {
  return sharing === undefined || sharing.isAbsent ? command : [...command, `--${sharing.flag}`];
}

/** Returns the members that are arguments of the command, in order. */
export function argumentsOf({ params, cli }: Operation): readonly string[] {
  return [...Object.keys(params?.properties ?? {}), ...(cli.arguments ?? [])];
}

/** Returns whether calls of the operation may have an idempotency key. Operations that change nothing ignore a key. */
export function takesIdempotencyKey({ method, audit }: Operation): boolean {
  return (method === 'POST' || method === 'PUT' || method === 'PATCH') && audit.effect !== 'none';
}

/** All operations of the API. */
export const OPERATIONS = {
  ...TOKEN_OPERATIONS,
  ...APPLICATION_OPERATIONS,
  ...APPLICATION_KEY_OPERATIONS,
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
export type BodyOf<Id extends OperationId> =
  | Part<Id, 'body'>
  | (Row<Id> extends { readonly bodyOptional: true } ? undefined : never);
export type ResultOf<Id extends OperationId> = Part<Id, 'result'>;
