import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { ROOT, removeOthers, writeIfChanged } from './build-output.js';

/** What is run. Becomes dist/cli/main.js, with dist/chunks/ for what it loads when it is needed. */
export const ENTRY_POINTS = ['cli/main.ts'];

/** What other programs import: `exports` of package.json. Bundled apart, in dist/library/, so that a command loads none of it. */
export const LIBRARY = ['client/remote.ts', 'contract/operations.ts'];

/** Has a native part, so it is installed, not bundled. */
const EXTERNAL = ['better-sqlite3'];

/**
 * Bundled CommonJS asks for Node's own modules with `require`, which a module does not have. `createRequire` would do, at
 * the price of an import in every chunk; nothing but built-in modules is ever asked for.
 */
const REQUIRE = `const require=(id)=>{const found=process.getBuiltinModule(id);\
if(found===undefined)throw Object.assign(new Error("Cannot find module "+id),{code:"MODULE_NOT_FOUND"});return found};`;

async function isCommonJs(file) {
  if (/\.[cm]js$/.test(file)) return file.endsWith('.cjs');
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const manifest = await readFile(path.join(folder, 'package.json'), 'utf8').catch(() => undefined);
    if (manifest !== undefined) return JSON.parse(manifest).type !== 'module';
  }
}

/**
 * `await import()` of a CommonJS package gives a bundle only its default export, where Node gives the named ones, too.
 * This puts a module of the names that Node finds before each, so that the sources run alike bundled and as they are.
 */
const NAMED_EXPORTS = {
  name: 'named-exports',
  setup(hooks) {
    hooks.onResolve({ filter: /^[^./]/ }, async ({ path: specifier, kind, resolveDir, pluginData }) => {
      if (kind !== 'dynamic-import' || pluginData === NAMED_EXPORTS || resolveDir.includes('node_modules')) return;
      const found = await hooks.resolve(specifier, { kind, resolveDir, pluginData: NAMED_EXPORTS });
      if (found.external || found.errors.length > 0 || !(await isCommonJs(found.path))) return found;
      return { path: found.path, namespace: 'named-exports', pluginData: { resolveDir } };
    });
    hooks.onLoad({ filter: /.*/, namespace: 'named-exports' }, async ({ path: file }) => {
      const names = Object.keys(await import(pathToFileURL(file).href)).filter((name) =>
        /^(?!default$|__esModule$)[\w$]+$/.test(name),
      );
      const contents = `const all = require(${JSON.stringify(file)});\nexport default all;\nexport const { ${names.join(', ')} } = all;`;
      return { contents, resolveDir: path.dirname(file), loader: 'js' };
    });
  },
};

/**
 * commander runs other programs for subcommands of their own, which there are none of: loading Node's means for that is a
 * tenth of the time of `vault --help`.
 */
const NO_CHILD_PROCESSES = {
  name: 'no-child-processes',
  setup(hooks) {
    hooks.onResolve({ filter: /^node:child_process$/ }, ({ importer }) => {
      const isCommander = importer.split(path.sep).join('/').includes('/node_modules/commander/');
      return isCommander ? { path: 'none', namespace: 'no-child-processes' } : undefined;
    });
    hooks.onLoad({ filter: /.*/, namespace: 'no-child-processes' }, () => {
      return { contents: 'exports.spawn = () => { throw new Error("unreachable"); };', loader: 'js' };
    });
  },
};

const SOURCES = path.join(ROOT, 'src');

/** What every command needs. With all that they import they become one file: each further one costs it a millisecond. */
const FIRST = [
  'cli/main.ts',
  'cli/program.ts',
  'cli/run-operation.ts',
  'cli/report-failure.ts',
  'cli/credential.ts',
  'contract/limits.ts',
  'core/problem-reply.ts',
];

/** What opening a vault needs: one more. */
const VAULT = [
  'vault.ts',
  'client/direct.ts',
  'store/sqlite/open-vault-file.ts',
  'store/sqlite/create-vault-file.ts',
  'keyring/unlock-keyring.ts',
  'keyring/create-keyring.ts',
];

/** The sources that `FIRST` import before any `await import()`. */
async function firstSources() {
  const entryPoints = FIRST.map((name) => path.join(SOURCES, name));
  const { metafile } = await build({ ...BUNDLE, plugins: [], packages: 'external', entryPoints, outdir: 'unused' });
  const reached = new Set(FIRST.map((name) => `src/${name}`));
  for (const file of reached) {
    for (const found of metafile.inputs[file].imports) {
      if (found.kind === 'import-statement' && !found.external) reached.add(found.path);
    }
  }
  return [...reached].filter((file) => file.endsWith('.ts'));
}

/**
 * esbuild puts two sources into one file exactly when the same entry points reach them, and each `await import()` makes an
 * entry point: left alone, a command would load some thirty small files. So whatever is not among `FIRST` imports all of
 * them, and a dynamic import of one of a group leads to one entry point for the whole group.
 */
const FEWER_FILES = {
  name: 'fewer-files',
  async setup(hooks) {
    const first = new Set((await firstSources()).map((file) => path.join(ROOT, file)));
    const main = path.join(SOURCES, FIRST[0]);
    const groups = { first, vault: new Set(VAULT.map((name) => path.join(SOURCES, name))) };
    const importFirst = [...first].map((file) => `import ${JSON.stringify(file)};`).join('');

    hooks.onLoad({ filter: /\.ts$/, namespace: 'file' }, async ({ path: file }) => {
      const joins = file === main || (!first.has(file) && file.startsWith(SOURCES + path.sep));
      return joins ? { contents: `${await readFile(file, 'utf8')}\n${importFirst}`, loader: 'ts' } : undefined;
    });
    hooks.onResolve({ filter: /^\./ }, ({ path: specifier, kind, resolveDir }) => {
      if (kind !== 'dynamic-import') return;
      const file = path.resolve(resolveDir, specifier);
      const group = Object.keys(groups).find((name) => groups[name].has(file));
      return group === undefined ? undefined : { path: group, namespace: 'fewer-files' };
    });
    hooks.onLoad({ filter: /.*/, namespace: 'fewer-files' }, ({ path: group }) => {
      const names = group === 'first' ? FIRST.map((name) => path.join(SOURCES, name)) : [...groups[group]];
      const contents = names.map((file) => `export * from ${JSON.stringify(file)};`).join('\n');
      return { contents, resolveDir: SOURCES, loader: 'ts' };
    });
  },
};

/** The folder of the package that an input of the bundle belongs to; none for our own. */
function packageFolder(input) {
  const file = path
    .resolve(ROOT, input.replace(/^named-exports:/, ''))
    .split(path.sep)
    .join('/');
  return file.match(/^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/)?.[0];
}

/** What the licences of the bundled packages ask for: their texts. */
async function licences(inputs) {
  const folders = [...new Set(inputs.map(packageFolder).filter((folder) => folder !== undefined))].sort();
  const texts = await Promise.all(
    folders.map(async (folder) => {
      const { name, version, license } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
      for (const file of ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license', 'LICENSE-MIT', 'license.md']) {
        const text = await readFile(path.join(folder, file), 'utf8').catch(() => undefined);
        if (text !== undefined) return `${name} ${version} (${license})\n\n${text.trim()}\n`;
      }
      return `${name} ${version} (${license})\n`;
    }),
  );
  return `The files beside this one contain the following packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** How the product is bundled. @type {import('esbuild').BuildOptions} */
export const BUNDLE = {
  absWorkingDir: ROOT,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: EXTERNAL,
  plugins: [NAMED_EXPORTS, NO_CHILD_PROCESSES, FEWER_FILES],
  chunkNames: 'chunks/[name]-[hash]',
  banner: { js: REQUIRE },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none', // dist/LICENSES.txt has the whole texts
  metafile: true,
  write: false,
  logLevel: 'warning',
  logOverride: { 'ambiguous-reexport': 'error' },
};

export async function bundle() {
  const outdir = path.join(ROOT, 'dist');
  const sources = (names) => names.map((name) => path.join(SOURCES, name));
  const parts = [
    { ...BUNDLE, entryPoints: sources(ENTRY_POINTS), outbase: SOURCES, outdir },
    { ...BUNDLE, plugins: [], entryPoints: sources(LIBRARY), outbase: SOURCES, outdir: path.join(outdir, 'library') },
  ];
  const results = await Promise.all(parts.map((options) => build(options)));
  const outputs = results.flatMap((result) => result.outputFiles);
  const inputs = results.flatMap((result) => Object.keys(result.metafile.inputs));
  const files = new Map(outputs.map(({ path: file, contents }) => [file, contents]));
  files.set(path.join(outdir, 'LICENSES.txt'), await licences(inputs));

  // Chunks first: whoever starts meanwhile finds all that its entry point imports.
  const isChunk = (file) => file.includes(`${path.sep}chunks${path.sep}`);
  const ordered = [...files].sort(([a], [b]) => Number(isChunk(b)) - Number(isChunk(a)));
  for (const [file, contents] of ordered) await writeIfChanged(file, contents);
  await removeOthers(outdir, new Set([...files.keys(), path.join(outdir, 'types')]));
  const bytes = outputs.reduce((sum, { contents }) => sum + contents.length, 0);
  return `${files.size} files, ${Math.round(bytes / 1024)} KiB`;
}
