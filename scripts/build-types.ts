/** Generates the types of the API as interfaces that show the descriptions of the contract in editors. */
import path from 'node:path';
import { namedSchemas, printSchema } from '../src/contract/openapi/schemas.ts';
import { OPERATIONS, type Operation } from '../src/contract/operations.ts';
import type { Schema } from '../src/contract/schema.ts';
import { ROOT, writeIfChanged } from './build-output.ts';

const HEADER = `// Made by scripts/build-types.ts. Do not edit.
import type { Json } from '../contract/json.ts';
import type { ApplicationKeyWithText, ApplicationWithKey, CallOptions } from './api-types.ts';
`;

/** A node that `printSchema` returns: a schema whose parts may be references. */
type TypeNode = Omit<Schema, 'items' | 'properties' | 'additionalProperties' | 'type'> & {
  readonly $ref?: string;
  readonly type?: string | readonly [string, 'null'];
  readonly items?: TypeNode;
  readonly properties?: Readonly<Record<string, TypeNode>>;
  readonly additionalProperties?: TypeNode;
};

const printed = (schema: Schema) => printSchema(schema) as TypeNode;

const docs = (indent: string, text: string | undefined) =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;

/** Returns the TypeScript type of a schema that `printSchema` has returned. `any` is the type of arbitrary JSON. */
function typeOf(node: TypeNode, any: string, indent = ''): string {
  const { $ref, type, const: only, enum: words, items = {}, properties, additionalProperties: others = {} } = node;
  if ($ref !== undefined) return path.basename($ref);
  if (only !== undefined) return JSON.stringify(only);
  if (words !== undefined) return words.map((word) => `'${word}'`).join(' | ');
  if (typeof type === 'object') return `${typeOf({ ...node, type: type[0] }, any, indent)} | null`;
  if (type === 'integer') return 'number';
  if (type === 'array') return `readonly ${typeOf(items, any, indent).replace(/^[^\w{].*/s, '($&)')}[]`;
  if (type !== 'object') return type ?? any;
  if (properties === undefined) return `Readonly<Record<string, ${typeOf(others, any, indent)}>>`;
  const members = Object.entries(properties).map(([name, member]) => {
    const isOptional = !node.required?.includes(name);
    // A request leaves out members that are undefined.
    const or = isOptional && any === 'unknown' ? ' | undefined' : '';
    const declared = `readonly ${name}${isOptional ? '?' : ''}: ${typeOf(member, any, `${indent}  `)}${or};\n`;
    return `${docs(`${indent}  `, member.description)}${indent}  ${declared}`;
  });
  return `{\n${members.join('')}${indent}}`;
}

function namedType([name, node]: readonly [string, TypeNode]): string {
  const type = typeOf(node, /^(Create|Update)/.test(name) ? 'unknown' : 'Json');
  const declaration = type.startsWith('{') ? `interface ${name} ${type}` : `type ${name} = ${type};`;
  return `${docs('', node.description)}export ${declaration}\n`;
}

/** The types of results with an API key, by the type without it. */
const WITH_KEY: Readonly<Record<string, string>> = {
  Application: 'ApplicationWithKey',
  ApplicationKey: 'ApplicationKeyWithText',
};

/** Returns the declaration of an operation's method. A `body` of arbitrary JSON has the type `unknown`. */
function methodOf([id, { method, path, permission, summary, note, ...row }]: readonly [string, Operation]): string {
  const { params, query, body, result } = row;
  const properties = Object.fromEntries(
    Object.entries({ params, query, body }).flatMap(([part, schema]) => (schema ? [[part, printed(schema)]] : [])),
  );
  const isRequired = { params, query: query?.required, body: !row.bodyOptional && body };
  const required = Object.entries(isRequired).flatMap(([part, is]) => (is ? [part] : []));
  const request = typeOf({ type: 'object', properties, required }, 'unknown', '  ');
  const parameter = `request${required.length > 0 ? '' : '?'}: ${Object.keys(properties).length > 0 ? `${request} & ` : ''}CallOptions`;
  const about = `${summary}: \`${method} ${path}\`${permission ? `, permission \`${permission}\`` : ''}.${note ? ` ${note}` : ''}`;
  const shown = result ? typeOf(printed(result), 'Json', '  ') : 'undefined';
  const type = row.cli.columns.includes('key') ? WITH_KEY[shown] : shown;
  return `${docs('  ', about)}  readonly ${id}: (${parameter}) => Promise<${type}>;\n`;
}

const client = `/** The operations of the API by id. Each rejects with \`VaultError\` for a problem, and with any error of \`fetch\`. */
export interface VaultClient {
${Object.entries<Operation>(OPERATIONS).map(methodOf).join('')}}
`;
const types = Object.entries(namedSchemas() as Readonly<Record<string, TypeNode>>).map(namedType);
writeIfChanged(path.join(ROOT, 'src/client/api.generated.ts'), [HEADER, ...types, client].join('\n'));
