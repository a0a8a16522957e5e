import { curlCommand } from '../../src/cli/operation/show-request.ts';
import { pairsOf } from '../../src/client/check-request.ts';
import { openApi } from '../../src/contract/openapi/openapi.ts';
import {
  commandWords,
  type Example,
  OPERATIONS,
  type Operation,
  takesIdempotencyKey,
} from '../../src/contract/operations.ts';
import { PERMISSIONS } from '../../src/contract/permissions.ts';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems.ts';
import { code, table } from './markdown.ts';

/** A schema of the OpenAPI document. */
interface Node {
  readonly $ref?: string;
  readonly type?: string | readonly [string, 'null'];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Node | boolean;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Node }>>;
}

interface DocumentedOperation {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name?: string;
    readonly in?: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: Node;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

const DOCUMENT = openApi({ version: '' }) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Node>> };
};
const DOCUMENTED = Object.values(DOCUMENT.paths).flatMap((path) => Object.values(path));

/** Objects that a table of the page describes, with its heading; others have their own heading. */
const PLACES: Readonly<Record<string, string>> = { TokenType: 'token-types', Permission: 'permissions' };
/** Pages and bodies are described where they are used; other named schemas have a heading. */
const INLINE = /^(Create|Update)|Page$|^ApplicationType$/;

function named(ref: string): readonly [name: string, node: Node] {
  const name = ref.split('/').at(-1) ?? '';
  return [name, DOCUMENT.components.schemas[name] ?? {}];
}

function typeText(node: Node): string {
  const { $ref, type, enum: words, items, additionalProperties: values } = node;
  if ($ref !== undefined) {
    const [name, found] = named($ref);
    return INLINE.test(name) ? typeText(found) : `[${name}](#${PLACES[name] ?? name.toLowerCase()})`;
  }
  if (Array.isArray(type))
    return `${typeText({ ...node, type: type[0] })} or null`.replace('or null or null', 'or null');
  if (words !== undefined) return words.map(code).join(', ');
  if (type === 'array') return `list of ${atMost(node.maxItems)}${plural(typeText(items ?? {}))}`;
  if (type === 'integer') return `integer${limits(node.minimum, node.maximum)}`;
  if (type === 'string') return `string${limits(node.minLength, node.maxLength, ' characters')}`;
  if (type === 'object' && typeof values === 'object') {
    return `object of ${atMost(node.maxProperties)}${plural(typeText(values))}`;
  }
  return typeof type === 'string' ? type : 'any JSON';
}

const plural = (text: string) => text.replace(/^(string|integer|object|list)\b/, '$1s');

const atMost = (most: number | undefined) => (most === undefined ? '' : `at most ${most} `);

/** Formats limits. Omits an upper limit of a million or more and a lower limit of one character. */
function limits(least = 0, most = Number.POSITIVE_INFINITY, unit = ''): string {
  if (most >= 1e6) return '';
  return least > 1 || unit === '' ? ` (${least} to ${most}${unit})` : ` (at most ${most}${unit})`;
}

/** Returns the members of an object; nested members are named by their path. */
function members(node: Node, path = ''): readonly (readonly string[])[] {
  const { properties = {}, required = [] } = node.$ref === undefined ? node : named(node.$ref)[1];
  return Object.entries(properties).flatMap(([name, member]) => {
    const whole = `${path}${name}`;
    const about = member.description ?? (member.$ref === undefined ? '' : (named(member.$ref)[1].description ?? ''));
    const own = [code(whole) + (required.includes(name) ? ' (required)' : ''), typeText(member), about];
    const [step, inner] = insideOf(member);
    return [own, ...(inner.$ref === undefined ? members(inner, `${whole}${step}.`) : [])];
  });
}

/** Returns the schema of list items or free-named values, and their step in a path. */
function insideOf({ items, additionalProperties: values, ...node }: Node): readonly [step: string, inner: Node] {
  if (items !== undefined) return ['[]', items];
  return typeof values === 'object' ? ['.KEY', values] : ['', node];
}

const memberTable = (node: Node) => table(['member', 'type', 'meaning'], members(node));

function parameterTable({ parameters }: DocumentedOperation): string {
  const own = parameters.filter(({ name }) => name !== undefined);
  if (own.length === 0) return '';
  const rows = own.map(({ name = '', in: place = '', required, description = '', schema }) => {
    const shown = schema.type === 'object' ? `${name}.KEY` : name;
    return [code(shown) + (required ? ' (required)' : ''), place, typeText(schema), description];
  });
  return `${table(['parameter', 'in', 'type', 'meaning'], rows)}\n`;
}

function schemaOf({ content }: Content): Node | undefined {
  return Object.values(content ?? {})[0]?.schema;
}

function bodyText({ requestBody }: DocumentedOperation, { mediaType = 'application/json' }: Operation): string {
  const schema = requestBody && schemaOf(requestBody);
  if (schema === undefined) return '';
  const rows = members(schema);
  const what = rows.length === 0 ? `${schema.description}` : 'an object.';
  return `Body, ${code(mediaType)}: ${what}\n${rows.length === 0 ? '' : `\n${memberTable(schema)}\n`}`;
}

/** Describes the result: a link for a named object, a table for others. */
function resultText({ responses }: DocumentedOperation, { status }: Operation): string {
  const schema = schemaOf(responses[status] ?? {});
  if (schema === undefined) return `Answers ${status} without a body.\n`;
  const [name] = schema.$ref === undefined ? [undefined] : named(schema.$ref);
  if (name !== undefined && !INLINE.test(name)) return `Answers ${status} with ${typeText(schema)}.\n`;
  const inner = schema.type === 'array' ? (schema.items ?? {}) : schema;
  const rows = members(inner);
  if (rows.length === 0) return `Answers ${status}. ${inner.description}\n`;
  return `Answers ${status} with ${schema.type === 'array' ? 'a list of these' : 'this'}:\n\n${memberTable(inner)}\n`;
}

function exampleText(id: string, row: Operation): string {
  const [example] = Object.values<Example>(row.examples);
  if (example === undefined) throw new Error(`${id} has no example`);
  const command = curlCommand(
    {
      operation: id as keyof typeof OPERATIONS,
      params: Object.fromEntries(Object.entries(example.params ?? {}).map(([name, value]) => [name, String(value)])),
      query: pairsOf(id, row, example.query),
      ...(row.body &&
        example.body !== undefined && {
          mediaType: row.mediaType ?? 'application/json',
          bodyText: printJson(example.body),
        }),
    },
    { url: undefined, headerPrefix: undefined },
  );
  const shown = example.result === undefined ? '' : `\n\`\`\`json\n${printJson(example.result)}\n\`\`\`\n`;
  return `${example.summary}:\n\n\`\`\`sh\n${command}\`\`\`\n${shown}`;
}

/** Prints JSON with short lists and objects on one line. */
function printJson(value: unknown, indent = ''): string {
  const line = JSON.stringify(value, null, 1).replace(/\n */g, ' ');
  if (typeof value !== 'object' || value === null || line.length + indent.length <= 100) return line;
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => printJson(item, inner))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${printJson(member, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`;
}

/** Lists the problem codes that only some operations return. */
function problemText({ params, body, path, conflicts }: Operation): string {
  const members = { ...params?.properties, ...body?.properties };
  const missing: readonly ProblemCode[] = [
    ...('application_id' in members || (params && !path.startsWith('/tokens'))
      ? (['application_not_found'] as const)
      : []),
    ...('key_id' in members ? (['key_not_found'] as const) : []),
    ...('token_id' in members || (params && path.startsWith('/tokens')) ? (['token_not_found'] as const) : []),
  ];
  const own = [...missing, ...conflicts].map((name) => `${PROBLEMS[name].status} ${code(name)}`);
  return own.length === 0 ? '' : `Problems of its own: ${own.join(', ')}.\n`;
}

function headText(row: Operation): string {
  const { permission, orFlag, orOwn, cli } = row;
  const types = permission === undefined ? [] : PERMISSIONS[permission].types;
  const needs =
    permission === undefined ? 'any valid key' : `permission ${code(permission)} (${types.join(' and ')} applications)`;
  const flag = orFlag === undefined ? '' : `, or ${code(orFlag)} for an expiring application`;
  const own = orOwn ? ', or any valid key for its own access' : '';
  const words = ['vault', ...commandWords(row), ...(cli.arguments ?? []).map((name) => name.toUpperCase())].join(' ');
  const retries = takesIdempotencyKey(row) ? ' It takes an [idempotency key](#retry-safely).' : '';
  return `${code(`${row.method} ${row.path}`)}: ${needs}${flag}${own}. Command: ${code(words)}.${retries}\n`;
}

/** Describes every operation: its request, its results, and an example that a test runs on a vault. */
export function operationReference(): string {
  const sections = Object.entries<Operation>(OPERATIONS).map(([id, row]) => {
    const documented = DOCUMENTED.find(({ operationId }) => operationId === id);
    if (documented === undefined) throw new Error(`${id} is not in the document`);
    const parts = [
      `### ${row.summary}\n`,
      row.note === undefined ? '' : `${row.note}\n`,
      headText(row),
      parameterTable(documented),
      bodyText(documented, row),
      resultText(documented, row),
      problemText(row),
      exampleText(id, row),
    ];
    return parts.filter((part) => part !== '').join('\n');
  });
  return sections.join('\n').trimEnd();
}

/** Describes the objects that several operations share. */
export function objectReference(): string {
  const objects = Object.entries(DOCUMENT.components.schemas).filter(
    ([name, node]) => !INLINE.test(name) && PLACES[name] === undefined && node.properties !== undefined,
  );
  return objects
    .map(([name, node]) =>
      [`### ${name}\n`, ...(node.description ? [`${node.description}\n`] : []), memberTable(node)].join('\n'),
    )
    .join('\n\n');
}

/** Returns the members of requests and replies without a description; `schemas` are the named ones. */
export function undescribed(schemas: Readonly<Record<string, Node>> = DOCUMENT.components.schemas): readonly string[] {
  const of = (where: string, node: Node | undefined) =>
    (node === undefined ? [] : members(node)).filter(([, , about]) => about === '').map(([name]) => `${where} ${name}`);
  return [
    ...Object.entries(schemas).flatMap(([name, node]) => of(name, node)),
    ...DOCUMENTED.flatMap(({ operationId, parameters, requestBody, responses }) => [
      ...parameters
        .filter(({ name, description = '' }) => name !== undefined && description === '')
        .map(({ name }) => `${operationId} ${name}`),
      ...of(operationId, requestBody && schemaOf(requestBody)),
      ...Object.values(responses).flatMap((response) => of(operationId, schemaOf(response))),
    ]),
  ];
}
