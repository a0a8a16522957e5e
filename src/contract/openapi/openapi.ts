import { OPERATIONS, type Operation, type OperationId, takesIdempotencyKey } from '../operations.ts';
import { PERMISSIONS } from '../permissions.ts';
import { IDEMPOTENCY_KEY, type Schema } from '../schema.ts';
import { EXAMPLES } from './examples.generated.ts';
import { problemResponse, problemStatuses, responseName, traceHeader } from './problems.ts';
import { inlineSchema, namedSchemas, type OpenApiNode, printSchema, reference } from './schemas.ts';

export interface OpenApiOptions {
  readonly version: string;
  /** The URL of the API. Default: `/`, the origin of the document. */
  readonly serverUrl?: string | undefined;
  /** The prefix of the header names. Default: `SVC` (decisions §1). */
  readonly headerPrefix?: string | undefined;
}

/** A request of an example. */
export interface ExampleRequest {
  readonly summary: string;
  readonly params?: Readonly<Record<string, string>>;
  /** The query, in the form of the operation's query schema. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

export interface Example extends ExampleRequest {
  /** Absent when the operation returns 204. */
  readonly result?: unknown;
}

/** Examples by operation and name. */
export type Examples<Row = Example> = Readonly<Record<OperationId, Readonly<Record<string, Row>>>>;

/** The tags by the first segment of the path. Other paths have the tag Tokens. */
const TAGS = {
  tokens: { name: 'Tokens', description: 'Create, read, search and change tokens of sensitive data.' },
  applications: { name: 'Applications', description: 'The callers: API keys, permissions and access rules.' },
  tenants: { name: 'Tenants', description: 'The tenant of the calling key, and its usage.' },
  permissions: { name: 'Permissions', description: 'The permissions that applications may hold.' },
  logs: { name: 'Logs', description: 'The audit log: callers, operations, records and results.' },
} as const;

function tagOf({ path }: Operation) {
  return Object.entries(TAGS).find(([segment]) => path.split('/')[1] === segment)?.[1] ?? TAGS.tokens;
}

const describeApi = (prefix: string): string =>
  `Tokens of sensitive data, and the access rules that decide who sees it redacted, masked or revealed.

Every request carries the API key of an application in \`${prefix}-API-KEY\`. Every response carries a trace id in \`${prefix}-TRACE-ID\`, which is the trace id of the request, the trace of its \`traceparent\` (W3C Trace Context), or a new one. Errors are \`application/problem+json\` (RFC 9457), including those for unknown paths and methods. A trailing slash in a path is ignored. Every path that accepts GET accepts HEAD, too. Unknown headers are ignored; unknown query parameters and unknown members of a body are rejected.`;

/** Returns the OpenAPI 3.1 document of the API. A pure function, so the daemon and the CLI print the same document. */
export function openApi({ version, serverUrl = '/', headerPrefix = 'SVC' }: OpenApiOptions): OpenApiNode {
  const rows = Object.entries<Operation>(OPERATIONS);
  const paths: Record<string, Record<string, OpenApiNode>> = {};
  for (const [id, row] of rows) {
    paths[row.path] = { ...paths[row.path], [row.method.toLowerCase()]: operationObject(id as OperationId, row) };
  }
  const statuses = [...new Set(rows.flatMap(([, row]) => problemStatuses(row)))].sort();
  return {
    openapi: '3.1.0',
    info: {
      title: 'Token vault',
      version,
      description: describeApi(headerPrefix),
      contact: { name: 'The operator of this vault' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    tags: Object.values(TAGS),
    security: [{ ApiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        ApiKey: {
          type: 'apiKey',
          in: 'header',
          name: `${headerPrefix}-API-KEY`,
          description: 'The API key of an application: `key_` and 32 letters and digits.',
        },
      },
      parameters: {
        TraceId: {
          name: `${headerPrefix}-TRACE-ID`,
          in: 'header',
          description:
            '1 to 200 printable ASCII characters. Any other value is replaced by the trace of `traceparent`, or by a new id.',
          schema: { type: 'string' },
        },
        IdempotencyKey: {
          name: `${headerPrefix}-IDEMPOTENCY-KEY`,
          in: 'header',
          description:
            'A new random value for each change. A request repeated with the same value within 24 hours changes nothing and returns the records of the first reply as they are now.',
          schema: { type: 'string', pattern: IDEMPOTENCY_KEY },
        },
      },
      headers: {
        TraceId: { description: 'The trace id of the request.', required: true, schema: { type: 'string' } },
        Challenge: {
          description: 'The scheme `ApiKey`, and the header that carries the key (RFC 9110 §11.6.1).',
          required: true,
          schema: { type: 'string', const: `ApiKey header="${headerPrefix}-API-KEY"` },
        },
        RetryAfter: {
          description: 'The number of seconds to wait before a retry.',
          required: true,
          schema: { type: 'integer', minimum: 0 },
        },
        RetryAfterFirst: {
          description: 'For `idempotency_in_progress`: the number of seconds to wait for the first request to end.',
          schema: { type: 'integer', minimum: 0 },
        },
        Replayed: {
          description: 'Set when an earlier request with the same idempotency key made the change.',
          schema: { type: 'string', const: 'true' },
        },
      },
      responses: {
        ...Object.fromEntries(statuses.map((status) => [responseName(status), problemResponse(headerPrefix, status)])),
        OtherProblem: {
          description:
            'Any other problem, such as the error of a request that does not match an operation (405, 408, 414, 431).',
          headers: traceHeader(headerPrefix),
          content: { 'application/problem+json': { schema: reference('schemas', 'Problem') } },
        },
      },
      schemas: namedSchemas(),
    },
  };

  function operationObject(id: OperationId, row: Operation): OpenApiNode {
    const { permission } = row;
    const problems = problemStatuses(row).map((status) => [status, reference('responses', responseName(status))]);
    const examples = Object.entries(EXAMPLES[id]);
    return {
      operationId: id,
      tags: [tagOf(row).name],
      summary: row.summary,
      description: describeOperation(row),
      'x-permission': permission,
      parameters: [
        ...pathParameters(row, examples[0]?.[1]),
        ...queryParameters(row, examples[0]?.[1]),
        reference('parameters', 'TraceId'),
        ...(takesIdempotencyKey(row) ? [reference('parameters', 'IdempotencyKey')] : []),
      ],
      ...(row.body && {
        requestBody: {
          required: !row.bodyOptional,
          content: { [row.mediaType ?? 'application/json']: content(row.body, examples, 'body') },
        },
      }),
      responses: {
        [row.status]: {
          description: row.result ? 'Success.' : 'Success, without a body.',
          headers: {
            ...traceHeader(headerPrefix),
            ...(takesIdempotencyKey(row) && {
              [`${headerPrefix}-IDEMPOTENT-REPLAYED`]: reference('headers', 'Replayed'),
            }),
          },
          ...(row.result && { content: { 'application/json': content(row.result, examples, 'result') } }),
        },
        ...Object.fromEntries(problems),
        default: reference('responses', 'OtherProblem'),
      },
    };
  }
}

/** Returns the OpenAPI document as text. */
export function openApiText(options: OpenApiOptions): string {
  return `${JSON.stringify(openApi(options), null, 2)}\n`;
}

function describeOperation({ permission, orFlag, orOwn, note }: Operation): string {
  if (permission === undefined) return 'Needs any valid API key.';
  const needed = `Needs the permission \`${permission}\` (${PERMISSIONS[permission].allows.toLowerCase()}), of application types ${PERMISSIONS[permission].types.join(' and ')}`;
  const flag = orFlag ? `; or \`${orFlag}\`, within the limits of the calling application` : '';
  const needs = `${needed}${flag}${orOwn ? '; any valid API key for its own access' : ''}.`;
  return note === undefined ? needs : `${note} ${needs}`;
}

function pathParameters({ params }: Operation, example: Example | undefined): readonly OpenApiNode[] {
  return Object.entries(params?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'path',
    required: true,
    ...described(schema),
    ...(example?.params && { example: example.params[name] }),
  }));
}

/**
 * Returns the query parameters of an operation. An array is a repeated parameter (form, exploded). A map `m` is sent as
 * `m.<key>=<value>`. OpenAPI has no style with a dot after the name (`deepObject` writes `m[key]`), so the map is an
 * exploded object whose keys begin with `m.`.
 */
function queryParameters({ query }: Operation, example: Example | undefined): readonly OpenApiNode[] {
  return Object.entries(query?.properties ?? {}).map(([name, schema]) => {
    const value = example?.query?.[name];
    const common = { name, in: 'query' };
    if (schema.type !== 'object') {
      const list = schema.type === 'array' && { style: 'form', explode: true };
      return { ...common, ...list, ...described(schema), ...(value !== undefined && { example: value }) };
    }
    const { description, ...shape } = schema;
    const prefixed = Object.entries(value ?? {}).map(([key, item]) => [`${name}.${key}`, item]);
    return {
      ...common,
      style: 'form',
      explode: true,
      description: `${description} One parameter for each key, \`${name}.<key>=<value>\`; all must match. If a key is repeated, only its first value counts.`,
      schema: { ...inlineSchema(shape), propertyNames: { pattern: `^${name}\\..` } },
      ...(value !== undefined && { example: Object.fromEntries(prefixed) }),
    };
  });
}

function described({ description, ...schema }: Schema): OpenApiNode {
  return { ...(description !== undefined && { description }), schema: printSchema(schema) };
}

function content(
  schema: Schema,
  examples: readonly (readonly [string, Example])[],
  part: 'body' | 'result',
): OpenApiNode {
  const shown = examples
    .filter(([, example]) => example[part] !== undefined)
    .map(([name, example]) => [name, { summary: example.summary, value: example[part] }]);
  return { schema: printSchema(schema), ...(shown.length > 0 && { examples: Object.fromEntries(shown) }) };
}
