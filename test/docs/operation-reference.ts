import { curlCommand } from '../../src/cli/operation/show-request.ts';
import { pairsOf } from '../../src/client/check-request.ts';
import { EXAMPLES } from '../../src/contract/openapi/examples.generated.ts';
import { openApi } from '../../src/contract/openapi/openapi.ts';
import {
  argumentsOf,
  commandWords,
  OPERATIONS,
  type Operation,
  type OperationId,
  takesIdempotencyKey,
} from '../../src/contract/operations.ts';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems.ts';
import { anchor, code, type Row, table } from './markdown.ts';

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
/** Bodies are described where they are used; other named schemas have a heading. */
const INLINE = /^(Create|Update)|^ApplicationType$/;
const isNamed = ({ $ref }: Node) => $ref !== undefined && !INLINE.test(named($ref)[0]);
const MAX_LINE = 120;
const READ_ONLY = '[Read-only](#read-change-write-back): the stored value.';

function named(ref: string): readonly [name: string, node: Node] {
  const name = ref.split('/').at(-1) ?? '';
  return [name, DOCUMENT.components.schemas[name] ?? {}];
}

/** Returns the schema that a reference names. */
const resolved = (node: Node): Node => (node.$ref === undefined ? node : named(node.$ref)[1]);

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

/** Returns the members of an object; nested members are named by their path, once if several members have them. */
function members(node: Node, path = '', shown = new Map<string, string>()): readonly Row[] {
  const { properties = {}, required = [] } = resolved(node);
  return Object.entries(properties).flatMap(([name, member]) => {
    const whole = `${path}${name}`;
    const about = member.description ?? resolved(member).description ?? '';
    const [step, inner] = insideOf(member);
    const key = JSON.stringify(inner.properties ?? whole);
    const twin = shown.get(key);
    if (twin === undefined) shown.set(key, whole);
    const note = twin === undefined || about === '' ? '' : ` Its members are those of ${code(twin)}.`;
    const own = [code(whole) + (required.includes(name) ? ' (required)' : ''), typeText(member), about + note];
    const isOpen = inner.$ref === undefined && twin === undefined;
    return [own, ...(isOpen ? members(inner, `${whole}${step}.`, shown) : [])];
  });
}

/** Returns the schema of list items or free-named values, and their step in a path. */
function insideOf({ items, additionalProperties: values, ...node }: Node): readonly [step: string, inner: Node] {
  if (items !== undefined) return ['[]', items];
  return typeof values === 'object' ? ['.KEY', values] : ['', node];
}

/** A table of the page and the link to its section. */
interface Described {
  readonly link: string;
  readonly rows: readonly Row[];
}

const linkTo = (heading: string) => `[${heading}](#${anchor(heading)})`;
const without = (rows: readonly Row[], others: readonly Row[]) => {
  const texts = others.map(String);
  return rows.filter((row) => !texts.includes(String(row)));
};

/** Describes members in a table of `tables`, which refers to an earlier one that has most of them. */
function membersText(what: string, rows: readonly Row[], section: string, tables: Described[]): string {
  if (rows.length === 0) return '';
  const base = tables.find((earlier) => {
    const missing = without(earlier.rows, rows).length;
    return missing <= 1 && earlier.rows.length - missing >= 3;
  });
  if (base === undefined) {
    tables.push({ link: linkTo(section), rows });
    return memberTable(what, rows);
  }
  const [own, missing] = [without(rows, base.rows), without(base.rows, rows)];
  const except = missing.map(([name]) => ` without ${name?.replace(' (required)', '')}`).join('');
  const intro = `${what}s: as in ${base.link}${except}`;
  return own.length === 0
    ? `${intro}.\n`
    : `${intro}, and ${own.length === 1 ? '' : 'these:\n\n'}${memberTable('', own)}`;
}

/** Describes members in a table, or a single one in a line. Read-only members of a body share one row. */
function memberTable(what: string, rows: readonly Row[]): string {
  const [name, type, about] = rows[0] ?? [];
  if (rows.length === 1) return `${what === '' ? '' : `${what} `}${name}: ${type}. ${about}\n`;
  const stored = rows.filter((row) => row.at(-1)?.endsWith('Read-only: only its stored value.'));
  const shared = stored.length === 0 ? [] : [[stored.map(([each]) => each).join(', '), '', READ_ONLY]];
  return `${table([what.toLowerCase() || 'member', 'type', 'meaning'], [...without(rows, stored), ...shared])}\n`;
}

/** Returns the parameters in a path or in a query. Paths share a few, which one table describes. */
function parameterRows(where: 'path' | 'query', { parameters }: DocumentedOperation): readonly Row[] {
  return parameters
    .filter(({ in: place }) => place === where)
    .map(({ name = '', required, description = '', schema }) => {
      const shown = schema.type === 'object' ? `${name}.KEY` : name;
      return [code(shown) + (required && where === 'query' ? ' (required)' : ''), typeText(schema), description];
    });
}

function schemaOf({ content }: Content): Node | undefined {
  return Object.values(content ?? {})[0]?.schema;
}

/** Describes a body or a result of a free form. */
function freeText(what: string, schema: Node | undefined): string {
  const isFree = schema?.description !== undefined && members(schema).length === 0 && itemsOf(schema) === schema;
  return isFree ? `${what}: ${schema.description}\n` : '';
}

const itemsOf = (schema: Node) => (schema.type === 'array' ? (schema.items ?? {}) : schema);

function resultWords(schema: Node | undefined): string {
  if (schema === undefined) return ' without a body';
  if (isNamed(schema)) return ` with ${typeText(schema)}`;
  return schema.type === 'array' ? ' with a list' : '';
}

/** Shows an example. `shown` has the kinds of results that the page shows; lists of the same items are one kind. */
function exampleText(id: string, row: Operation, result: Node | undefined, shown: Set<string>): string {
  const [example] = Object.values(EXAMPLES[id as OperationId]);
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
  const kind = result && JSON.stringify(resolved(result).properties?.['data'] ?? result);
  const reply = kind === undefined || shown.has(kind) ? '' : jsonBlock(printJson(abridged(example.result)));
  if (kind !== undefined) shown.add(kind);
  return `\`\`\`sh\n# ${example.summary}\n${fill(command.trimEnd().split(' \\\n  '), ' ', ' \\\n  ')}\n\`\`\`\n${reply}`;
}

const jsonBlock = (text: string) => `\`\`\`json\n${text}\n\`\`\`\n`;

/** Joins parts in lines of at most `MAX_LINE` characters. A part of several lines stays alone. */
function fill(parts: readonly string[], separator: string, lineBreak: string, indent = 2): string {
  const lines: string[] = [];
  for (const part of parts) {
    const joined = `${lines.at(-1)}${separator}${part}`;
    const fits = !joined.includes('\n') && indent + joined.length + separator.length < MAX_LINE;
    if (lines.length > 0 && fits) lines[lines.length - 1] = joined;
    else lines.push(part);
  }
  return lines.join(lineBreak);
}

/** Returns JSON in which `"…"` replaces the items of a long list of objects after the first one. */
function abridged(result: unknown): unknown {
  const isLong = (value: unknown) => Array.isArray(value) && value.length > 3 && typeof value[0] === 'object';
  return JSON.parse(JSON.stringify(result, (_name, value) => (isLong(value) ? [value[0], '…'] : value)));
}

/** Prints JSON with as many short members in a line as fit. */
function printJson(value: unknown, indent = '', label = ''): string {
  const line = label + JSON.stringify(value, null, 1).replace(/\n */g, ' ');
  if (typeof value !== 'object' || value === null || line.length + indent.length < MAX_LINE - 1) return line;
  const [only] = Array.isArray(value) && value.length === 1 ? value : [];
  if (typeof only === 'object') return `${label}[${printJson(only, indent)}]`;
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => printJson(item, inner))
    : Object.entries(value).map(([name, member]) => printJson(member, inner, `${JSON.stringify(name)}: `));
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${label}${open}\n${inner}${fill(parts, ', ', `,\n${inner}`, inner.length)}\n${indent}${close}`;
}

/** Lists the problem codes that only some operations return. */
function problemWords({ params, body, path, conflicts = [] }: Operation): string {
  const members = { ...params?.properties, ...body?.properties };
  const missing: readonly ProblemCode[] = [
    ...('application_id' in members || (params && !path.startsWith('/tokens'))
      ? (['application_not_found'] as const)
      : []),
    ...('key_id' in members ? (['key_not_found'] as const) : []),
    ...('token_id' in members || (params && path.startsWith('/tokens')) ? (['token_not_found'] as const) : []),
  ];
  const own = [...missing, ...conflicts].map((name) => `${PROBLEMS[name].status} ${code(name)}`);
  return own.length === 0 ? '' : ` Problems: ${own.join(', ')}.`;
}

function headText(id: string, row: Operation, result: Node | undefined): string {
  const { permission, orFlag, orOwn, status } = row;
  const flag = orFlag === undefined ? '' : `, or ${code(orFlag)} for an expiring application,`;
  const own = orOwn ? ', or any valid key for its own access,' : '';
  const needs = `${permission === undefined ? 'any valid key' : code(permission)}${flag}${own}`;
  const retries = takesIdempotencyKey(row) ? ' It takes an [idempotency key](#retry-safely).' : '';
  return `${code(`${row.method} ${row.path}`)} (${code(id)}, ${code(commandOf(row))}) needs ${needs} and returns ${status}${resultWords(result)}.${retries}${problemWords(row)}\n`;
}

/** Returns the command line that runs an operation, with placeholders for its arguments. */
export function commandOf(row: Operation): string {
  return ['vault', ...commandWords(row), ...argumentsOf(row).map((name) => name.toUpperCase())].join(' ');
}

/** Describes every operation: its request, its results, and an example that a test runs on a vault. */
export function operationReference(): string {
  const [queries, bodies]: readonly [Described[], Described[]] = [[], []];
  const shown = new Set<string>();
  const inPaths = DOCUMENTED.flatMap((documented) => parameterRows('path', documented));
  const pathRows = [...new Map(inPaths.map((row) => [String(row), row])).values()];
  const results = sharedObjects().map(([name, node]) => ({ link: linkTo(name), rows: members(node) }));
  const sections = Object.entries<Operation>(OPERATIONS).map(([id, row]) => {
    const documented = DOCUMENTED.find(({ operationId }) => operationId === id);
    if (documented === undefined) throw new Error(`${id} is not in the document`);
    const body = documented.requestBody && schemaOf(documented.requestBody);
    const result = schemaOf(documented.responses[row.status] ?? {});
    const resultRows = result === undefined || isNamed(result) ? [] : members(itemsOf(result));
    const texts = [
      membersText('Parameter', parameterRows('query', documented), row.summary, queries),
      freeText('Body', body),
      membersText('Body member', body === undefined ? [] : members(body), row.summary, bodies),
      freeText('Result', result),
      membersText('Result member', resultRows, row.summary, results),
    ].filter((text) => text !== '');
    const isTable = (text: string) => text.includes('\n| ');
    const lines = [headText(id, row, result), ...texts.filter((text) => !isTable(text))];
    return [
      `### ${row.summary}\n`,
      ...(row.note === undefined ? [] : [`${row.note}\n`]),
      `${lines.map((line) => line.trimEnd()).join(' ')}\n`,
      ...texts.filter(isTable),
      exampleText(id, row, result, shown),
    ].join('\n');
  });
  return [memberTable('Path parameter', pathRows), ...sections].join('\n').trimEnd();
}

/** Returns the schemas that have a heading in the list of objects. */
function sharedObjects(): readonly (readonly [name: string, node: Node])[] {
  return Object.entries(DOCUMENT.components.schemas).filter(
    ([name, node]) => !INLINE.test(name) && PLACES[name] === undefined && node.properties !== undefined,
  );
}

/** Describes the objects that several operations share. */
export function objectReference(): string {
  const sections = sharedObjects().map(([name, node]) =>
    [
      `### ${name}\n`,
      ...(node.description ? [`${node.description}\n`] : []),
      memberTable('Member', members(node)),
    ].join('\n'),
  );
  return sections.join('\n').trimEnd();
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
