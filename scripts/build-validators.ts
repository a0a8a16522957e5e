/** Compiles the contract's schemas into src/. */
import path from 'node:path';
import { Ajv2020, type Options } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import addFormats from 'ajv-formats';
import { build } from 'esbuild';
import { SEED_SCHEMA } from '../src/cli/commands/seed/seed-schema.ts';
import { OPERATIONS, type Operation } from '../src/contract/operations.ts';
import { PROBLEM_BODY } from '../src/contract/problems.ts';
import type { Schema } from '../src/contract/schema.ts';
import { ESBUILD, ROOT, writeIfChanged } from './build-output.ts';

/**
 * The maximum number of errors that a validator collects. A body of 1 MiB may have 500,000, and callers need only a
 * few.
 */
const MAX_ERRORS = 100;

const BANNER = '// Made by scripts/build-validators.ts. Do not edit.\n';

/** Source code that checks for JSON objects. It rejects number lexemes, whose prototype chain is longer. */
const PRELUDE = `
const isJsonObject = (value) => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};
`;

const OPTIONS = {
  strict: true,
  allErrors: true,
  messages: false,
  unicodeRegExp: true,
  unevaluated: false,
  code: { source: true, esm: true, lines: true },
} satisfies Options;

type Exported = Schema | Map<string, Exported>;

/** Resolves to the source code of one self-contained module. `exported` holds schemas, and maps of schemas, by name. */
async function compile(exported: Readonly<Record<string, Exported>>): Promise<string> {
  const ajv = new Ajv2020(OPTIONS);
  addFormats.default(ajv, ['date-time', 'uuid']);
  const names = new Map<Schema, string>();
  function print(node: Exported): string {
    if (node instanceof Map) {
      // Without a prototype, because callers look up untrusted names.
      return `{ __proto__: null, ${[...node].map(([name, member]) => `${name}: ${print(member)}`).join(', ')} }`;
    }
    const name = names.get(node) ?? `validator${names.size}`;
    if (!names.has(node)) ajv.addSchema({ ...node }, name);
    names.set(node, name);
    return name;
  }
  const exports = Object.entries(exported).map(([name, node]) => `export const ${name} = ${print(node)};`);
  const code = standaloneCode
    .default(ajv, Object.fromEntries([...names.values()].map((name) => [name, name])))
    .replaceAll(/(data\d*) && typeof \1 == "object" && !Array\.isArray\(\1\)/g, 'isJsonObject($1)')
    .replaceAll('vErrors.push(', `vErrors.length < ${MAX_ERRORS} && vErrors.push(`);
  const isAsExpected = ['isJsonObject(', 'vErrors.length <'].every((part) => code.includes(part));
  // Only a keyword that removes errors sets `vErrors.length`.
  if (!isAsExpected || /== "object"|vErrors\.length = /.test(code)) {
    throw new Error("build-validators: ajv's output has changed; adapt the patterns");
  }
  const contents = `${PRELUDE}${code.replaceAll(/^export /gm, '')}\n${exports.join('')}`;
  const { outputFiles } = await build({
    ...ESBUILD,
    stdin: { contents, resolveDir: ROOT, loader: 'js' },
    format: 'esm',
    platform: 'node',
    target: 'node22',
    minifySyntax: true,
  });
  return `${BANNER}${outputFiles.map(({ text }) => text).join('')}`;
}

const ROWS = Object.entries<Operation>(OPERATIONS);

/** Returns a schema whose read-only members accept any value: the handlers compare them with the stored values. */
function comparedLater(schema: Schema): Schema {
  const members = Object.entries(schema.properties ?? {});
  if (!members.some(([, member]) => member.readOnly)) return schema;
  const properties = members.map(([name, member]) => [name, member.readOnly ? {} : member]);
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** Returns the schemas of one part of requests, or of their results, by operation. */
const byOperation = (part: 'body' | 'result') =>
  new Map<string, Schema>(ROWS.flatMap(([id, { [part]: schema }]) => (schema ? [[id, comparedLater(schema)]] : [])));

const urlParts = ({ params, query }: Operation) =>
  new Map<string, Schema>([
    ...(params ? [['params', params] as const] : []),
    ...(query ? [['query', query] as const] : []),
  ]);

/** The exports of the generated files. Their declaration files are written by hand. */
const FILES: Readonly<Record<string, Readonly<Record<string, Exported>>>> = {
  'core/validators': { VALIDATORS: new Map(ROWS.map(([id, row]) => [id, urlParts(row)])) },
  'core/body-validators': { BODY_VALIDATORS: byOperation('body') },
  'core/result-validators': { RESULT_VALIDATORS: byOperation('result'), PROBLEM_VALIDATOR: PROBLEM_BODY },
  'cli/commands/seed/seed-validator': { SEED_VALIDATOR: SEED_SCHEMA },
};

for (const [name, exported] of Object.entries(FILES))
  writeIfChanged(path.join(ROOT, 'src', `${name}.generated.js`), await compile(exported));
