import path from 'node:path';
import { build } from 'esbuild';
import { ROOT, writeIfChanged } from './build-output.js';

/** The schemas of a row that the product checks; results are checked by tests only. */
const URL_PARTS = ['params', 'query'];

/** Say nothing about validity; left out of the compiled code. */
const ANNOTATIONS = new Set(['description', 'examples', 'default']);

/** A body of 1 MiB can be wrong in 500,000 places. A caller needs a few of them. */
const MAX_ERRORS = 100;

const ESBUILD = { bundle: true, write: false, format: 'esm', platform: 'node', target: 'node22' };
const BANNER = '// Made by scripts/build-validators.js from src/contract. Do not edit.\n';

/** A JSON object: of a prototype that has none. A number that is kept by its lexeme is an instance of a class that inherits. */
const PRELUDE = `
const isJsonObject = (value) => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};
`;

const URL_TYPES = `${BANNER}import type { OperationId } from '../contract/operations.ts';

/** What one keyword of a schema refused. There is no message: it would have to quote the value. */
export interface ValidationError {
  /** JSON pointer (RFC 6901) of the member. */
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly schemaPath: string;
  /** Set on what \`propertyNames\` refused. */
  readonly propertyName?: string;
}

/** A compiled schema. \`errors\` is of the last call, at most ${MAX_ERRORS} of them: read it before the next call. */
export type Validator = ((value: unknown) => boolean) & { errors?: null | readonly ValidationError[] };

/** Of what is in a path and behind it. */
export declare const VALIDATORS: Readonly<
  Record<OperationId, { readonly params?: Validator; readonly query?: Validator }>
>;
`;

const BODY_TYPES = `${BANNER}import type { OperationId } from '../contract/operations.ts';
import type { Validator } from './validators.generated.js';

/** An operation without a body has no entry. */
export declare const BODY_VALIDATORS: Readonly<Partial<Record<OperationId, Validator>>>;
`;

const RESULT_TYPES = `${BANNER}import type { OperationId } from '../contract/operations.ts';
import type { Validator } from './validators.generated.js';

/** For tests only. An operation without a result (204) has no entry. */
export declare const RESULT_VALIDATORS: Readonly<Partial<Record<OperationId, Validator>>>;
export declare const PROBLEM_VALIDATOR: Validator;
`;

/** The contract's data, imported from its TypeScript sources. */
export async function loadContract() {
  const contents = `export { OPERATIONS } from './operations.ts'; export { PROBLEM_BODY } from './problems.ts';`;
  const { outputFiles } = await build({
    ...ESBUILD,
    stdin: { contents, resolveDir: path.join(ROOT, 'src/contract'), loader: 'ts' },
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

function withoutAnnotations(schema) {
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.has(keyword));
  return Object.fromEntries(
    entries.map(([keyword, value]) => {
      if (keyword === 'properties') {
        return [
          keyword,
          Object.fromEntries(Object.entries(value).map(([name, sub]) => [name, withoutAnnotations(sub)])),
        ];
      }
      return [
        keyword,
        ['items', 'additionalProperties', 'propertyNames'].includes(keyword) ? withoutAnnotations(value) : value,
      ];
    }),
  );
}

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
    validateSchema: false, // done before, with the original keywords
    code: { source: true, esm: true, lines: true },
  });
  addFormats.default(ajv, ['date-time', 'uuid']);
  // Ajv's own compares each item with each, with a function that throws on objects without a prototype; and goes on to
  // do so when the array is longer than `maxItems`. Only strings are ever unique here.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    code(context) {
      const { items } = context.parentSchema;
      if (items?.type !== 'string' && !items?.enum?.every((value) => typeof value === 'string')) {
        throw new Error('uniqueItems: only for arrays of strings');
      }
      context.pass(_`new Set(${context.data}).size === ${context.data}.length`);
    },
  });
  return ajv;
}

function replaceAll(code, pattern, replacement, forbidden) {
  const replaced = code.replace(pattern, replacement);
  if (replaced === code || replaced.includes(forbidden)) {
    throw new Error(`build-validators: ajv no longer writes ${pattern}; look at its output and adapt`);
  }
  return replaced;
}

/** Compiles the schemas to one self-contained module; `exportsOf` writes its exports from the names that they got. */
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
    ajv.addSchema(withoutAnnotations(schema), names.get(schema));
  }
  const exported = [...names.values()];
  let code = standaloneCode.default(ajv, Object.fromEntries(exported.map((name) => [name, name])));
  const objectTest = /(data\d*) && typeof \1 == "object" && !Array\.isArray\(\1\)/g;
  code = replaceAll(code, objectTest, 'isJsonObject($1)', '== "object"');
  code = replaceAll(code, /\bvErrors\.push\(/g, `vErrors.length < ${MAX_ERRORS} && vErrors.push (`, 'vErrors.push(');
  if (code.includes('vErrors.length = '))
    throw new Error('build-validators: a keyword takes errors back: not with a limit');

  const compiled = {
    name: 'compiled',
    setup(hooks) {
      hooks.onResolve({ filter: /^compiled$/ }, () => ({ path: 'compiled', namespace: 'compiled' }));
      hooks.onLoad({ filter: /^compiled$/, namespace: 'compiled' }, () => {
        return { contents: `${PRELUDE}${code}`, resolveDir: ROOT, loader: 'js' };
      });
    },
  };
  const contents = `import { ${exported.join(', ')} } from 'compiled';\n${exportsOf((schema) => names.get(schema))}`;
  const { outputFiles } = await build({
    ...ESBUILD,
    stdin: { contents, resolveDir: ROOT, loader: 'js' },
    plugins: [compiled],
    minifySyntax: true,
  });
  return `${BANNER}${outputFiles[0].text}`;
}

/** The text of an object without a prototype: outside strings are looked up in it. */
function table(members) {
  return `{\n  __proto__: null,\n${members.map((member) => `  ${member},\n`).join('')}}`;
}

export async function generateValidators() {
  const { OPERATIONS, PROBLEM_BODY } = await loadContract();
  const rows = Object.entries(OPERATIONS);
  const urls = rows.flatMap(([, row]) => URL_PARTS.map((part) => row[part])).filter(Boolean);
  const bodies = rows.map(([, row]) => row.body).filter(Boolean);
  const results = rows.map(([, row]) => row.result).filter(Boolean);

  const urlCode = await compile(urls, (nameOf) => {
    const members = rows.map(([id, row]) => {
      const parts = URL_PARTS.filter((part) => row[part]).map((part) => `${part}: ${nameOf(row[part])}`);
      return `${id}: { ${['__proto__: null', ...parts].join(', ')} }`;
    });
    return `export const VALIDATORS = ${table(members)};`;
  });
  const bodyCode = await compile(bodies, (nameOf) => {
    const members = rows.filter(([, row]) => row.body).map(([id, row]) => `${id}: ${nameOf(row.body)}`);
    return `export const BODY_VALIDATORS = ${table(members)};`;
  });
  const resultCode = await compile([...results, PROBLEM_BODY], (nameOf) => {
    const members = rows.filter(([, row]) => row.result).map(([id, row]) => `${id}: ${nameOf(row.result)}`);
    return `export const RESULT_VALIDATORS = ${table(members)};\nexport const PROBLEM_VALIDATOR = ${nameOf(PROBLEM_BODY)};`;
  });

  const core = path.join(ROOT, 'src/core');
  const written = await Promise.all([
    writeIfChanged(path.join(core, 'validators.generated.js'), urlCode),
    writeIfChanged(path.join(core, 'validators.generated.d.ts'), URL_TYPES),
    writeIfChanged(path.join(core, 'body-validators.generated.js'), bodyCode),
    writeIfChanged(path.join(core, 'body-validators.generated.d.ts'), BODY_TYPES),
    writeIfChanged(path.join(core, 'result-validators.generated.js'), resultCode),
    writeIfChanged(path.join(core, 'result-validators.generated.d.ts'), RESULT_TYPES),
  ]);
  return `${urls.length + bodies.length} request and ${results.length} result schemas, ${written.filter(Boolean).length} files changed`;
}
