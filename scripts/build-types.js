/** Generates the types of the API as interfaces that show the descriptions of the contract in editors. */
import path from 'node:path';
import { namedSchemas, printSchema } from '../src/contract/openapi/schemas.ts';
import { OPERATIONS } from '../src/contract/operations.ts';
import { ROOT, writeIfChanged } from './build-output.js';

const HEADER = `// Made by scripts/build-types.js. Do not edit.
import type { Json } from '../contract/json.ts';
import type { ApplicationKeyWithText, ApplicationWithKey } from './application-with-key.ts';
import type { CallOptions } from './call-options.ts';
`;

const docs = (indent, text) => (text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`);

/** Returns the TypeScript type of a schema that `printSchema` has returned. `any` is the type of arbitrary JSON. */
function typeOf(node, any, indent = '') {
  const { $ref, type, const: only, enum: words, items, properties, additionalProperties: others } = node;
  if ($ref !== undefined) return $ref.split('/').at(-1);
  if (only !== undefined) return JSON.stringify(only);
  if (words !== undefined) return words.map((word) => `'${word}'`).join(' | ');
  if (Array.isArray(type)) return `${typeOf({ ...node, type: type[0] }, any, indent)} | null`;
  if (type === 'integer') return 'number';
  if (type === 'array') return `readonly ${typeOf(items, any, indent).replace(/^[^\w{].*/s, '($&)')}[]`;
  if (type === 'object' && properties === undefined) return `Readonly<Record<string, ${typeOf(others, any, indent)}>>`;
  if (type !== 'object') return type ?? any;
  const members = Object.entries(properties).map(([name, member]) => {
    const mark = node.required?.includes(name) ? '' : '?';
    const declared = `readonly ${name}${mark}: ${typeOf(member, any, `${indent}  `)};\n`;
    return `${docs(`${indent}  `, member.description)}${indent}  ${declared}`;
  });
  return `{\n${members.join('')}${indent}}`;
}

function namedType([name, node]) {
  const type = typeOf(node, /^(Create|Update)/.test(name) ? 'unknown' : 'Json');
  const declaration = type.startsWith('{') ? `interface ${name} ${type}` : `type ${name} = ${type};`;
  return `${docs('', node.description)}export ${declaration}\n`;
}

/** The types of results with an API key, by the type without it. */
const WITH_KEY = { Application: 'ApplicationWithKey', ApplicationKey: 'ApplicationKeyWithText' };

/** Returns the declaration of an operation's method. A `body` of arbitrary JSON has the type `unknown`. */
function methodOf([id, { method, path, permission, summary, note, ...row }]) {
  const parts = ['params', 'query', 'body'].filter((part) => row[part]);
  const properties = Object.fromEntries(parts.map((part) => [part, printSchema(row[part])]));
  const isRequired = { params: true, query: row.query?.required, body: !row.bodyOptional };
  const required = parts.filter((part) => isRequired[part]);
  const request = typeOf({ type: 'object', properties, required }, 'unknown', '  ');
  const parameter = `request${required.length > 0 ? '' : '?'}: ${parts.length > 0 ? `${request} & ` : ''}CallOptions`;
  const about = `${summary}: \`${method} ${path}\`${permission ? `, permission \`${permission}\`` : ''}.${note ? ` ${note}` : ''}`;
  const shown = row.result ? typeOf(printSchema(row.result), 'Json', '  ') : 'undefined';
  const result = row.cli.columns.includes('key') ? WITH_KEY[shown] : shown;
  return `${docs('  ', about)}  readonly ${id}: (${parameter}) => Promise<${result}>;\n`;
}

const client = `/** The operations of the API by id. Each rejects with \`VaultError\` for a problem, and with any error of \`fetch\`. */
export interface VaultClient {
${Object.entries(OPERATIONS).map(methodOf).join('')}}
`;
const types = Object.entries(namedSchemas()).map(namedType);
writeIfChanged(path.join(ROOT, 'src/client/api.generated.ts'), [HEADER, ...types, client].join('\n'));
