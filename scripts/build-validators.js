import path from 'node:path';
import { build } from 'esbuild';
import { SEED_SCHEMA } from '../src/cli/commands/seed/seed-schema.ts';
import { OPERATIONS } from '../src/contract/operations.ts';
import { PROBLEM_BODY } from '../src/contract/problems.ts';
import { ROOT, writeIfChanged } from './build-output.js';

/** The parts of an operation's URL that have schemas. */
const URL_PARTS = ['params', 'query'];

/**
 * The maximum number of errors that a validator collects. A body of 1 MiB may have 500,000, and callers need only a
 * few.
 */
const MAX_ERRORS = 100;

const ESBUILD = { bundle: true, write: false, format: 'esm', platform: 'node', target: 'node22' };
const BANNER = '// Made by scripts/build-validators.js. Do not edit.\n';

/** Source code that checks for JSON objects. It rejects number lexemes, whose prototype chain is longer. */
const PRELUDE = `
const isJsonObject = (value) => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};
`;

async function newAjv() {
  const { Ajv2020, _ } = await import('ajv/dist/2020.js');
  const { default: addFormats } = await import('ajv-formats');
  const ajv = new Ajv2020({
    strict: true,
    allErrors: true,
    messages: false,
    unicodeRegExp: true,
    unevaluated: false,
    meta: false,
    validateSchema: false, // `compile` does it
    code: { source: true, esm: true, lines: true },
  });
  addFormats.default(ajv, ['date-time', 'uuid']);
  // Ajv's own `uniqueItems` compares every pair, throws on objects without a prototype and ignores `maxItems`. Replace
  // it by a check that compares only strings.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    code(context) {
      const { items } = context.parentSchema;
      if (items?.type !== 'string' && !items?.enum?.every((value) => typeof value === 'string')) {
        throw new Error('uniqueItems works only for arrays of strings');
      }
      context.pass(_`new Set(${context.data}).size === ${context.data}.length`);
    },
  });
  return ajv;
}

function replaceAll(code, pattern, replacement, forbidden) {
  const replaced = code.replace(pattern, replacement);
  if (replaced === code || replaced.includes(forbidden)) {
    throw new Error(`build-validators: ajv's output no longer matches ${pattern}; adapt the pattern`);
  }
  return replaced;
}

/**
 * Compiles the schemas. Resolves to the source code of one self-contained module. `exportsOf` returns its exports,
 * given a function that returns the generated name of a schema.
 */
async function compile(schemas, exportsOf) {
  const { default: standaloneCode } = await import('ajv/dist/standalone/index.js');
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  const metaSchema = new Ajv2020({ strict: true });
  const ajv = await newAjv();
  const names = new Map();
  for (const schema of schemas) {
    if (names.has(schema)) continue;
    names.set(schema, `validator${names.size}`);
    metaSchema.validateSchema(schema, true);
    ajv.addSchema(schema, names.get(schema));
  }
  const exported = [...names.values()];
  let code = standaloneCode.default(ajv, Object.fromEntries(exported.map((name) => [name, name])));
  const objectTest = /(data\d*) && typeof \1 == "object" && !Array\.isArray\(\1\)/g;
  code = replaceAll(code, objectTest, 'isJsonObject($1)', '== "object"');
  code = replaceAll(code, /\bvErrors\.push\(/g, `vErrors.length < ${MAX_ERRORS} && vErrors.push (`, 'vErrors.push(');
  if (code.includes('vErrors.length = '))
    throw new Error('build-validators: a keyword removes errors, which the error limit does not support');

  const contents = `${PRELUDE}${code.replaceAll(/^export /gm, '')}\n${exportsOf((schema) => names.get(schema))}`;
  const stdin = { contents, resolveDir: ROOT, loader: 'js' };
  const { outputFiles } = await build({ ...ESBUILD, stdin, minifySyntax: true });
  return `${BANNER}${outputFiles[0].text}`;
}

/** Returns the source code of an object without a prototype, because callers look up untrusted names in the object. */
const table = (members) => `{ __proto__: null, ${members.join(', ')} }`;

/**
 * Returns an `exportsOf` for `compile` that exports the validators of one part of requests, by operation, as `name`.
 */
function exportPart(name, part) {
  const rows = Object.entries(OPERATIONS).filter(([, row]) => row[part]);
  return (nameOf) => `export const ${name} = ${table(rows.map(([id, row]) => `${id}: ${nameOf(row[part])}`))};`;
}

const exportUrls = (nameOf) => {
  const partsOf = (row) => URL_PARTS.filter((part) => row[part]).map((part) => `${part}: ${nameOf(row[part])}`);
  const members = Object.entries(OPERATIONS).map(([id, row]) => `${id}: ${table(partsOf(row))}`);
  return `export const VALIDATORS = ${table(members)};`;
};

const schemasOf = (...parts) =>
  parts.flatMap((part) => Object.values(OPERATIONS).map((row) => row[part])).filter(Boolean);

/** The generated files, each with its schemas and its exports. Their declaration files are written by hand. */
const FILES = {
  'core/validators': [schemasOf(...URL_PARTS), exportUrls],
  'core/body-validators': [schemasOf('body'), exportPart('BODY_VALIDATORS', 'body')],
  'core/result-validators': [
    [...schemasOf('result'), PROBLEM_BODY],
    (nameOf) =>
      `${exportPart('RESULT_VALIDATORS', 'result')(nameOf)}export const PROBLEM_VALIDATOR = ${nameOf(PROBLEM_BODY)};`,
  ],
  'cli/commands/seed/seed-validator': [
    [SEED_SCHEMA],
    (nameOf) => `export const SEED_VALIDATOR = ${nameOf(SEED_SCHEMA)};`,
  ],
};

/** Compiles the contract's schemas into src/. Resolves to a one-line summary. */
export async function generateValidators() {
  const written = Object.entries(FILES).map(async ([name, [schemas, exportsOf]]) =>
    writeIfChanged(path.join(ROOT, 'src', `${name}.generated.js`), await compile(schemas, exportsOf)),
  );
  return `${(await Promise.all(written)).filter(Boolean).length} of ${written.length} files changed`;
}
