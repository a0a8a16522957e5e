import {
  APPLICATION,
  APPLICATION_PAGE,
  CREATE_APPLICATION,
  LIST_APPLICATIONS_QUERY,
  UPDATE_APPLICATION,
} from './application.ts';
import type { Permission } from './permissions.ts';
import type { Infer, Schema } from './schema.ts';
import { TENANT, UPDATE_TENANT } from './tenant.ts';
import { ENTITY_ID } from './text.ts';
import { CREATE_TOKEN, LIST_TOKENS_QUERY, TOKEN, TOKEN_PAGE, TOKEN_PARAMS, UPDATE_TOKEN } from './token.ts';
import { USAGE_REPORT } from './usage-report.ts';

/**
 * One endpoint, as data. HTTP routes, OpenAPI, validators, the HTTP client and the CLI subcommand follow from the row.
 * In `path`, `{name}` is a member of `params`. A row without `body` takes no body, one without `result` answers 204.
 */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: `/${string}`;
  readonly permission: Permission;
  /** A member of the calling application that stands in for the permission; the handler decides how far it goes. */
  readonly orFlag?: 'can_create_expiring_applications';
  readonly params?: Schema;
  readonly query?: Schema;
  readonly body?: Schema;
  /** The media type of `body`; `application/json` unless the spec says otherwise (§4). */
  readonly mediaType?: 'application/json' | 'application/merge-patch+json';
  readonly result?: Schema;
  readonly status: 200 | 201 | 204;
  readonly summary: string;
  readonly cli: OperationCli;
}

/** What the CLI needs to know beyond the schemas. */
export interface OperationCli {
  /** The words of the subcommand: noun and verb, or one word. */
  readonly command: readonly [string] | readonly [string, string];
  /** Members of `params` that are arguments, in order. */
  readonly arguments?: readonly string[];
  /** Flags whose name is not the member in kebab-case: the singular of a repeatable one. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Members shown as columns of a table. */
  readonly columns: readonly string[];
  /** Ask before doing it: what is lost. */
  readonly confirm?: string;
  /** Members that are asked for on a terminal, in this order, when no member is given. */
  readonly asks?: readonly string[];
  /** Complete command lines, shown by `--help`. */
  readonly examples: readonly string[];
}

const APPLICATION_PARAMS = {
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  properties: { id: { ...ENTITY_ID, description: 'The id of the application.' } },
} as const;

const TOKEN_COLUMNS = ['id', 'type', 'data', 'containers', 'metadata', 'created_at', 'expires_at'] as const;
const APPLICATION_COLUMNS = ['id', 'name', 'type', 'permissions', 'rules', 'created_at', 'expires_at'] as const;
/** What an application may do stands before the rest: a narrow table leaves out from the right. */
const APPLICATION_LIST_COLUMNS = ['id', 'name', 'rules', 'permissions', 'type', 'created_at', 'expires_at'] as const;
const TENANT_COLUMNS = ['id', 'name', 'owner_id', 'settings', 'created_at'] as const;
const TOKEN_FLAGS = { containers: 'container', search_indexes: 'search-index' } as const;
const APPLICATION_FLAGS = { permissions: 'permission', rules: 'rule' } as const;

/** THE TABLE: every endpoint of the API, once. */
export const OPERATIONS = {
  createToken: {
    method: 'POST',
    path: '/tokens',
    permission: 'token:create',
    body: CREATE_TOKEN,
    result: TOKEN,
    status: 201,
    summary: 'Create a token',
    cli: {
      command: ['tokens', 'create'],
      flags: TOKEN_FLAGS,
      columns: TOKEN_COLUMNS,
      asks: ['type', 'data'],
      examples: [
        'vault tokens create --type card --data @card.json --field id',
        'vault tokens create --type token --text - --metadata customer=42 < pin.txt',
        `vault tokens create --type token --text - --mask '{{ data | reveal_last: 2 }}'`,
        `vault tokens create --type card_number --text - --id '{{ data | alias_card }}'`,
        `vault tokens create --type bank --data @bank.json --expires-at 12/31/2030`,
        'vault tokens create --body @token.json',
      ],
    },
  },
  listTokens: {
    method: 'GET',
    path: '/tokens',
    permission: 'token:read',
    query: LIST_TOKENS_QUERY,
    result: TOKEN_PAGE,
    status: 200,
    summary: 'List tokens',
    cli: {
      command: ['tokens', 'list'],
      columns: TOKEN_COLUMNS,
      examples: [
        'vault tokens list --type card --metadata customer=42',
        'vault tokens list --size 100 --page 2 -o table',
        'vault tokens list --all -o ndjson > tokens.ndjson',
      ],
    },
  },
  getToken: {
    method: 'GET',
    path: '/tokens/{id}',
    permission: 'token:read',
    params: TOKEN_PARAMS,
    result: TOKEN,
    status: 200,
    summary: 'Get a token',
    cli: {
      command: ['tokens', 'get'],
      arguments: ['id'],
      columns: TOKEN_COLUMNS,
      examples: ['vault tokens get $ID', 'vault tokens get $ID --field data.number'],
    },
  },
  updateToken: {
    method: 'PATCH',
    path: '/tokens/{id}',
    permission: 'token:update',
    params: TOKEN_PARAMS,
    body: UPDATE_TOKEN,
    mediaType: 'application/merge-patch+json',
    result: TOKEN,
    status: 200,
    summary: 'Update a token with a merge patch',
    cli: {
      command: ['tokens', 'patch'],
      arguments: ['id'],
      flags: TOKEN_FLAGS,
      columns: TOKEN_COLUMNS,
      examples: [
        `vault tokens patch $ID --data '{"expiration_year":2031}'`,
        'vault tokens patch $ID --metadata tier=gold --clear metadata.customer',
        'vault tokens patch $ID --container /pci/low/ --clear expires-at',
      ],
    },
  },
  deleteToken: {
    method: 'DELETE',
    path: '/tokens/{id}',
    permission: 'token:delete',
    params: TOKEN_PARAMS,
    status: 204,
    summary: 'Delete a token',
    cli: {
      command: ['tokens', 'delete'],
      arguments: ['id'],
      columns: [],
      confirm: 'The data of the token is removed for good.',
      examples: ['vault tokens delete $ID --yes'],
    },
  },
  createApplication: {
    method: 'POST',
    path: '/applications',
    permission: 'application:create',
    orFlag: 'can_create_expiring_applications',
    body: CREATE_APPLICATION,
    result: APPLICATION,
    status: 201,
    summary: 'Create an application',
    cli: {
      command: ['apps', 'create'],
      flags: APPLICATION_FLAGS,
      columns: [...APPLICATION_COLUMNS, 'key'],
      asks: ['name', 'type', 'permissions', 'rules'],
      examples: [
        'vault apps create --name web --type public --permission token:create',
        `vault apps create --name back --type private --key-out back.key \\\n    --rule 'container=/pci/ transform=reveal permissions=token:read'`,
        `vault apps create --name view --type expiring \\\n    --rule 'condition=id:equals:tok-1 transform=reveal permissions=token:read'`,
        'vault apps create --name back --type private --rule @rules.json',
      ],
    },
  },
  listApplications: {
    method: 'GET',
    path: '/applications',
    permission: 'application:read',
    query: LIST_APPLICATIONS_QUERY,
    result: APPLICATION_PAGE,
    status: 200,
    summary: 'List applications',
    cli: {
      command: ['apps', 'list'],
      columns: APPLICATION_LIST_COLUMNS,
      examples: ['vault apps list --all -o table', 'vault apps list --id $ID --field data[0].name'],
    },
  },
  getApplicationByKey: {
    method: 'GET',
    path: '/applications/key',
    permission: 'application:read',
    result: APPLICATION,
    status: 200,
    summary: 'Get the application of the calling key',
    cli: { command: ['apps', 'whoami'], columns: APPLICATION_COLUMNS, examples: ['vault apps whoami --field name'] },
  },
  getApplication: {
    method: 'GET',
    path: '/applications/{id}',
    permission: 'application:read',
    params: APPLICATION_PARAMS,
    result: APPLICATION,
    status: 200,
    summary: 'Get an application',
    cli: {
      command: ['apps', 'get'],
      arguments: ['id'],
      columns: APPLICATION_COLUMNS,
      examples: ['vault apps get $ID'],
    },
  },
  updateApplication: {
    method: 'PUT',
    path: '/applications/{id}',
    permission: 'application:update',
    params: APPLICATION_PARAMS,
    body: UPDATE_APPLICATION,
    result: APPLICATION,
    status: 200,
    summary: "Replace an application's name, permissions and rules",
    cli: {
      command: ['apps', 'update'],
      arguments: ['id'],
      flags: APPLICATION_FLAGS,
      columns: APPLICATION_COLUMNS,
      examples: ['vault apps update $ID --name web --permission token:create'],
    },
  },
  regenerateApplicationKey: {
    method: 'POST',
    path: '/applications/{id}/regenerate',
    permission: 'application:update',
    params: APPLICATION_PARAMS,
    result: APPLICATION,
    status: 200,
    summary: "Replace an application's API key; the previous key stops working at once",
    cli: {
      command: ['apps', 'regenerate'],
      arguments: ['id'],
      columns: [...APPLICATION_COLUMNS, 'key'],
      examples: ['vault apps regenerate $ID --key-out back.key'],
    },
  },
  deleteApplication: {
    method: 'DELETE',
    path: '/applications/{id}',
    permission: 'application:delete',
    params: APPLICATION_PARAMS,
    status: 204,
    summary: 'Delete an application; its tokens stay',
    cli: {
      command: ['apps', 'delete'],
      arguments: ['id'],
      columns: [],
      confirm: 'Its API key stops working at once.',
      examples: ['vault apps delete $ID --yes'],
    },
  },
  getTenant: {
    method: 'GET',
    path: '/tenants/self',
    permission: 'tenant:read',
    result: TENANT,
    status: 200,
    summary: 'Get the tenant of the calling key',
    cli: {
      command: ['tenant', 'get'],
      columns: TENANT_COLUMNS,
      examples: ['vault tenant get --field settings.deduplicate_tokens'],
    },
  },
  updateTenant: {
    method: 'PUT',
    path: '/tenants/self',
    permission: 'tenant:update',
    body: UPDATE_TENANT,
    result: TENANT,
    status: 200,
    summary: 'Update the tenant of the calling key',
    cli: {
      command: ['tenant', 'update'],
      columns: TENANT_COLUMNS,
      examples: [`vault tenant update --name staging --settings deduplicate_tokens=true`],
    },
  },
  deleteTenant: {
    method: 'DELETE',
    path: '/tenants/self',
    permission: 'tenant:delete',
    status: 204,
    summary: 'Delete the tenant of the calling key, with all that it holds',
    cli: {
      command: ['tenant', 'delete'],
      columns: [],
      confirm: 'All its applications, tokens and keys are removed for good.',
      examples: ['vault tenant delete --yes'],
    },
  },
  getUsageReport: {
    method: 'GET',
    path: '/tenants/self/reports/usage',
    permission: 'report:read',
    result: USAGE_REPORT,
    status: 200,
    summary: 'Get the usage report of the tenant',
    cli: {
      command: ['usage'],
      columns: ['token_report'],
      examples: ['vault usage --field token_report.monthly_active_tokens'],
    },
  },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof OPERATIONS;

type Row<Id extends OperationId> = (typeof OPERATIONS)[Id];
type Part<Id extends OperationId, Name extends string> =
  Row<Id> extends { readonly [K in Name]: infer S } ? Infer<S> : undefined;

export type ParamsOf<Id extends OperationId> = Part<Id, 'params'>;
export type QueryOf<Id extends OperationId> = Part<Id, 'query'>;
export type BodyOf<Id extends OperationId> = Part<Id, 'body'>;
export type ResultOf<Id extends OperationId> = Part<Id, 'result'>;
