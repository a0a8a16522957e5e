import path from 'node:path';
import { namedSchemas, printSchema } from '../src/contract/openapi/schemas.ts';
import { OPERATIONS } from '../src/contract/operations.ts';
import { ROOT, writeIfChanged } from './build-output.js';

const FILE = path.join(ROOT, 'src/client/api.generated.ts');

/** The name of the type of results that always contain an API key. */
const WITH_KEY = 'ApplicationWithKey';

const HEADER = `// Made by scripts/client-types.js. Do not edit.
import type { Json } from '../contract/json.ts';
import type { CallOptions } from './call-options.ts';
`;

/** The types of requests and results. */
export const API_TYPES = [...Object.keys(namedSchemas()), WITH_KEY, 'VaultClient'];

const docs = (indent, text) => (text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`);

/** Returns the TypeScript type of a schema that `printSchema` has returned. `any` is the type of arbitrary JSON. */
function typeOf(node, any, indent = '') {
  const { $ref, type, const: only, enum: words, items, properties, additionalProperties: others } = node;
  if ($ref !== undefined) return $ref.split('/').at(-1);
  if (only !== undefined) return typeof only === 'string' ? `'${only}'` : String(only);
  if (words !== undefined) return words.map((word) => `'${word}'`).join(' | ');
  if (Array.isArray(type)) return `${typeOf({ ...node, type: type[0] }, any, indent)} | null`;
  if (type === 'integer') return 'number';
  if (type === 'array') return `readonly ${inBrackets(typeOf(items, any, indent))}[]`;
  if (type === 'object' && properties !== undefined) return `{\n${membersOf(node, any, `${indent}  `)}${indent}}`;
  if (type === 'object') return `Readonly<Record<string, ${typeOf(others, any, indent)}>>`;
  return type ?? any;
}

const inBrackets = (type) => (/^[\w{]/.test(type) ? type : `(${type})`);

function membersOf({ properties, required = [] }, any, indent) {
  const members = Object.entries(properties).map(([name, node]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${docs(indent, node.description)}${indent}readonly ${name}${mark}: ${typeOf(node, any, indent)};\n`;
  });
  return members.join('');
}

function namedType([name, node]) {
  const any = /^(Create|Update)/.test(name) ? 'unknown' : 'Json';
  const type = typeOf(node, any);
  const declaration = type.startsWith('{') ? `interface ${name} ${type}` : `type ${name} = ${type};`;
  return `${docs('', node.description)}export ${declaration}\n`;
}

/** Returns the declaration of an operation's method. A `body` of arbitrary JSON has the type `unknown`. */
function callOf([id, row]) {
  const parts = ['params', 'query', 'body'].filter((part) => row[part] !== undefined);
  const members = parts.map((part) => {
    const node = printSchema(row[part]);
    const isOptional = node.$ref === undefined && part === 'query' && (node.required ?? []).length === 0;
    const type = part === 'params' ? '{ readonly id: string }' : typeOf(node, 'unknown', '  ');
    return `readonly ${part}${isOptional ? '?' : ''}: ${type}`;
  });
  const request = [...(members.length > 0 ? [`{ ${members.join('; ')} }`] : []), 'CallOptions'].join(' & ');
  const isOptional = members.every((member) => /^readonly \w+\?/.test(member));
  const shown = row.result === undefined ? 'undefined' : typeOf(printSchema(row.result), 'Json', '  ');
  const result = row.cli.columns.includes('key') ? WITH_KEY : shown;
  const about = `${row.summary}: \`${row.method} ${row.path}\`${row.permission ? `, permission \`${row.permission}\`` : ''}.`;
  return `${docs('  ', about)}  readonly ${id}: (request${isOptional ? '?' : ''}: ${request}) => Promise<${result}>;\n`;
}

/** Generates the types of the API as interfaces that show the descriptions of the contract in editors. */
export async function generateClientTypes() {
  const withKey = `/** An application with its API key, which the vault shows only once. */
export interface ${WITH_KEY} extends Application {
  readonly key: string;
}
`;
  const client = `/** The operations of the API by id. Each rejects with \`VaultError\` for a problem, and with any error of \`fetch\`. */
export interface VaultClient {
${Object.entries(OPERATIONS).map(callOf).join('')}}
`;
  const types = Object.entries(namedSchemas()).map(namedType);
  const changed = await writeIfChanged(FILE, [HEADER, ...types, withKey, client].join('\n'));
  return changed ? 'new types' : 'same types';
}
