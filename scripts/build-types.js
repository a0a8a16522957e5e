import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { namedSchemas, printSchema } from '../src/contract/openapi/schemas.ts';
import { OPERATIONS } from '../src/contract/operations.ts';
import { ROOT, writeIfChanged } from './build-output.js';

const HEADER = `// Made by scripts/build-types.js. Do not edit.
import type { Json } from '../contract/json.ts';
import type { CallOptions } from './call-options.ts';
`;

const WITH_KEY = `/** An application with its API key, which the vault shows only once. */
export interface ApplicationWithKey extends Application {
  readonly key: string;
}
`;

const docs = (indent, text) => (text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`);

/** Returns the TypeScript type of a schema that `printSchema` has returned. `any` is the type of arbitrary JSON. */
function typeOf(node, any, indent = '') {
  const { $ref, type, const: only, enum: words, items, properties, additionalProperties: others } = node;
  if ($ref !== undefined) return $ref.split('/').at(-1);
  if (only !== undefined) return typeof only === 'string' ? `'${only}'` : String(only);
  if (words !== undefined) return words.map((word) => `'${word}'`).join(' | ');
  if (Array.isArray(type)) return `${typeOf({ ...node, type: type[0] }, any, indent)} | null`;
  if (type === 'integer') return 'number';
  if (type === 'array') return `readonly ${typeOf(items, any, indent).replace(/^[^\w{].*/s, '($&)')}[]`;
  if (type === 'object' && properties !== undefined) return `{\n${membersOf(node, any, `${indent}  `)}${indent}}`;
  if (type === 'object') return `Readonly<Record<string, ${typeOf(others, any, indent)}>>`;
  return type ?? any;
}

function membersOf({ properties, required = [] }, any, indent) {
  const members = Object.entries(properties).map(([name, node]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${docs(indent, node.description)}${indent}readonly ${name}${mark}: ${typeOf(node, any, indent)};\n`;
  });
  return members.join('');
}

function namedType([name, node]) {
  const type = typeOf(node, /^(Create|Update)/.test(name) ? 'unknown' : 'Json');
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
  const result = row.cli.columns.includes('key') ? 'ApplicationWithKey' : shown;
  const about = `${row.summary}: \`${row.method} ${row.path}\`${row.permission ? `, permission \`${row.permission}\`` : ''}.`;
  return `${docs('  ', about)}  readonly ${id}: (request${isOptional ? '?' : ''}: ${request}) => Promise<${result}>;\n`;
}

/** Generates the types of the API as interfaces that show the descriptions of the contract in editors. */
export function generateClientTypes() {
  const client = `/** The operations of the API by id. Each rejects with \`VaultError\` for a problem, and with any error of \`fetch\`. */
export interface VaultClient {
${Object.entries(OPERATIONS).map(callOf).join('')}}
`;
  const types = Object.entries(namedSchemas()).map(namedType);
  writeIfChanged(path.join(ROOT, 'src/client/api.generated.ts'), [HEADER, ...types, WITH_KEY, client].join('\n'));
}

/** The values of the modules that programs may `require`. */
const COMMON = {
  'client/create-client': ['createClient', 'VaultError'],
  'library/open-vault': ['openVault'],
  'testing/start-vault': ['startVault'],
};

/** Writes declarations of the modules that package.json exports. A `.d.cts` re-exports those of the ES module. */
export function emitTypes() {
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: ROOT, stdio: 'inherit' });
  for (const [file, values] of Object.entries(COMMON)) {
    const module = `'./${path.basename(file)}.js'`;
    const mode = "with { 'resolution-mode': 'import' }";
    const declared = values.map((name) => {
      const type = /^[A-Z]/.test(name) ? `export type ${name} = InstanceType<typeof ${name}>;\n` : '';
      return `export declare const ${name}: typeof import(${module}, { ${mode.replace(' ', ': ')} }).${name};\n${type}`;
    });
    writeIfChanged(
      path.join(ROOT, `dist/types/${file}.d.cts`),
      `export type * from ${module} ${mode};\n${declared.join('')}`,
    );
  }
}
