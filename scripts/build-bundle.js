import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { build, transform } from 'esbuild';
import { libsodiumFiles } from './build-libsodium.js';
import { ROOT, removeOthers, writeIfChanged } from './build-output.js';
import {
  BUNDLED_SQLITE,
  LAZY_BUILTINS,
  LEAN_COMMANDER,
  NAMED_EXPORTS,
  OWN_MANIFEST,
  RUNNING_TIME,
} from './build-packages.js';
import { packTogether } from './build-packs.js';

/** What is run. Becomes dist/cli/main.cjs, with dist/chunks/ for what it loads when it is needed. */
export const ENTRY_POINTS = ['cli/main.ts'];

/** What other programs import: `exports` of package.json. Bundled apart, in dist/library/, so that a command loads none of it. */
export const LIBRARY = ['client/remote.ts', 'client/create-client.ts', 'contract/operations.ts'];

/** The one of these that is a CommonJS file, too: programs and test runners that are no ES modules use it. */
const COMMON_CLIENT = 'client/create-client.ts';

/** The thread that writes, one file with all that it needs: CommonJS, as all of the product. */
export const WRITER = 'vault-writer-thread.ts';

/** The helper for tests, which holds the whole daemon, is CommonJS only; ES modules import it through a file of a few lines. */
export const TESTING = 'testing/start-vault.ts';

/** Has a native part, so it is installed, not bundled; its JavaScript is (scripts/build-packages.js). */
const EXTERNAL = ['better-sqlite3'];

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

/** What opening a vault and reading a token of it need: one more. */
const VAULT = [
  'vault.ts',
  'client/direct.ts',
  'core/tokens/get.ts',
  'store/sqlite/open-vault-file.ts',
  'keyring/follow-master-key.ts',
  'keyring/sodium.ts',
];

const SODIUM = 'libsodium-wrappers/dist/modules-esm/libsodium-wrappers.mjs';

/** What opening a vault loads, as the ends of the entry points' names. */
const DIRECT = ['fewer-files:vault', 'bundled-sqlite:manifest', 'bundled-sqlite:sqlite', SODIUM];

/** The source that loads what an operation needs when that is called: all that it loads besides is one more. */
const HANDLERS = 'src/core/handlers.ts';
const BODIES = 'src/core/body-validators.generated.js';

/** Some sources with all that they import before any `await import()`. */
async function closureOf(names) {
  const entryPoints = names.map((name) => path.join(SOURCES, name));
  const { metafile } = await build({ ...BUNDLE, plugins: [], packages: 'external', entryPoints, outdir: 'unused' });
  const reached = new Set(names.map((name) => `src/${name}`));
  for (const file of reached) {
    for (const found of metafile.inputs[file]?.imports ?? []) {
      if (found.kind === 'import-statement' && !found.external) reached.add(found.path);
    }
  }
  return new Set([...reached].filter((file) => file.endsWith('.ts')).map((file) => path.join(ROOT, file)));
}

const importAll = (files) => [...files].map((file) => `import ${JSON.stringify(file)};`).join('');

/**
 * esbuild puts two sources into one file exactly when the same entry points reach them, and each `await import()` makes an
 * entry point: left alone, a command would load some thirty small files. So whatever is not among `FIRST` imports all of
 * them, whatever imports one of `VAULT` imports all of those, and a dynamic import of one of a group leads to one entry
 * point for the whole group.
 */
const FEWER_FILES = {
  name: 'fewer-files',
  async setup(hooks) {
    const [first, all] = await Promise.all([closureOf(FIRST), closureOf(VAULT)]);
    const vault = new Set([...all].filter((file) => !first.has(file)));
    const main = path.join(SOURCES, FIRST[0]);
    const facades = { first: FIRST, vault: VAULT };
    const isOurs = (file) => file.startsWith(SOURCES + path.sep);

    /** What a source is given to import besides its own. */
    function joined(file, text) {
      if (first.has(file)) return file === main ? importAll(first) : '';
      const specifiers = [...text.matchAll(/ from '(\.[^']*)'/g)].map(([, specifier]) => specifier);
      const reachesVault = specifiers.some((specifier) => vault.has(path.resolve(path.dirname(file), specifier)));
      return importAll(first) + (reachesVault && !vault.has(file) ? importAll(vault) : '');
    }

    hooks.onLoad({ filter: /\.ts$/, namespace: 'file' }, async ({ path: file }) => {
      if (!isOurs(file)) return;
      const text = await readFile(file, 'utf8');
      return { contents: `${text}\n${joined(file, text)}`, loader: 'ts' };
    });
    hooks.onResolve({ filter: /^\./ }, ({ path: specifier, kind, resolveDir }) => {
      if (kind !== 'dynamic-import') return;
      const file = path.resolve(resolveDir, specifier);
      const facade = Object.keys(facades).find((name) =>
        facades[name].some((known) => path.join(SOURCES, known) === file),
      );
      if (facade !== undefined) return { path: facade, namespace: 'fewer-files' };
      return vault.has(file) ? { path: file, namespace: 'one-of-vault' } : undefined;
    });
    hooks.onLoad({ filter: /.*/, namespace: 'fewer-files' }, ({ path: name }) => {
      const contents = facades[name]
        .map((file) => `export * from ${JSON.stringify(path.join(SOURCES, file))};`)
        .join('\n');
      return { contents, resolveDir: SOURCES, loader: 'ts' };
    });
    hooks.onLoad({ filter: /.*/, namespace: 'one-of-vault' }, ({ path: file }) => {
      return {
        contents: `${importAll(vault)}\nexport * from ${JSON.stringify(file)};`,
        resolveDir: SOURCES,
        loader: 'ts',
      };
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

/** The WebAssembly of libsodium: name → bytes. */
const LIBSODIUM_FILES = new Map();

/** How the product is bundled, before it becomes CommonJS. @type {import('esbuild').BuildOptions} */
export const BUNDLE = {
  absWorkingDir: ROOT,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  external: EXTERNAL,
  ...RUNNING_TIME,
  plugins: [
    NAMED_EXPORTS,
    LEAN_COMMANDER,
    OWN_MANIFEST,
    BUNDLED_SQLITE,
    libsodiumFiles(LIBSODIUM_FILES),
    LAZY_BUILTINS,
    FEWER_FILES,
  ],
  chunkNames: 'chunks/[name]-[hash]',
  outExtension: { '.js': '.cjs' },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none', // dist/LICENSES.txt has the whole texts
  metafile: true,
  write: false,
  logLevel: 'warning',
  logOverride: { 'ambiguous-reexport': 'error' },
};

/** Runs as CommonJS does when it is loaded as such; as a script of its own it gives the function that would run. */
const WRAPPER = {
  before:
    '(f=>typeof module==="object"?f(exports,require,module,__dirname):f)((function(exports,require,module,__dirname){',
  after: '\n}));',
};

/**
 * The bundle as CommonJS: loading the first ES module takes Node twice as long as all that `vault --version` does. esbuild splits
 * ES modules only, so each file of the bundle is turned afterwards.
 */
async function toCommonJs({ path: file, text }) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: BUNDLE.target,
    supported: { 'dynamic-import': false },
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: 'warning',
    sourcefile: path.basename(file),
  });
  // What esbuild leaves as it is stands in regular expressions. bin/vault.js reads ASCII.
  const ascii = code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  // esbuild copies all exports, twice, so that they look like those of a module to code that is not in the bundle.
  const lean = ascii
    .replace(/\bmodule\.exports=__toCommonJS\((\w+)\)/, 'module.exports=$1')
    .replace(/\b__toESM\((require\("\.[^"]+"\))\)/g, '$1');
  return [path.basename(file), lean];
}

/**
 * The thread that writes: one file with all that it needs. Its name says what is in it, so that a daemon that runs while its
 * files are replaced starts no thread of another version.
 */
async function writerThread(outdir) {
  const { outputFiles, metafile } = await build({
    ...BUNDLE,
    splitting: false,
    format: 'cjs',
    // CommonJS has none of its own here, and an `import()` in it would be of ES modules.
    supported: { 'dynamic-import': false },
    plugins: [NAMED_EXPORTS, BUNDLED_SQLITE, libsodiumFiles(LIBSODIUM_FILES)],
    entryPoints: [path.join(SOURCES, WRITER)],
    outdir,
  });
  const [{ contents }] = outputFiles;
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 8);
  const name = `${path.basename(WRITER, '.ts')}-${hash}.cjs`;
  const define = { 'import.meta.dirname': '__dirname', WRITER_THREAD_FILE: JSON.stringify(name) };
  return { file: [path.join(outdir, name), contents], define, metafile };
}

/** The files of the product, by path. */
async function productFiles({ outputFiles, metafile }, outdir) {
  const codes = new Map(await Promise.all(outputFiles.map(toCommonJs)));
  const handlers = metafile.inputs[HANDLERS].imports.map(({ path: file }) => file);
  const packed = packTogether(codes, metafile, { direct: DIRECT, operations: [...handlers, BODIES], begun: SODIUM });
  return [...packed].map(([name, code]) => [
    path.join(outdir, name === 'main.cjs' ? 'cli' : 'chunks', name),
    Buffer.from(`${WRAPPER.before}${code}${WRAPPER.after}`),
  ]);
}

/** What is imported as CommonJS: one file each, with all that it needs but `better-sqlite3` and the WebAssembly beside it. */
async function commonLibrary(outdir) {
  const wasm = new Map();
  const options = { ...BUNDLE, ...READABLE, splitting: false, format: 'cjs', outbase: SOURCES, outdir };
  const [client, testing] = await Promise.all([
    build({ ...options, plugins: [], define: {}, inject: [], entryPoints: [path.join(SOURCES, COMMON_CLIENT)] }),
    build({
      ...options,
      // What a test runner runs has no `import()`.
      supported: { 'dynamic-import': false },
      define: { 'import.meta.url': 'moduleUrl', 'import.meta.dirname': '__dirname' },
      inject: [path.join(ROOT, 'scripts/module-url.js')],
      plugins: [NAMED_EXPORTS, LEAN_COMMANDER, BUNDLED_SQLITE, libsodiumFiles(wasm)],
      entryPoints: [path.join(SOURCES, TESTING)],
    }),
  ]);
  const files = [
    ...[client, testing].flatMap(({ outputFiles }) => outputFiles.map(({ path: file, contents }) => [file, contents])),
    ...[...wasm].map(([name, bytes]) => [path.join(outdir, 'testing', name), bytes]),
    [path.join(outdir, 'testing/start-vault.js'), TESTING_MODULE],
  ];
  return { files, metafile: testing.metafile };
}

/** Where one of these throws and nobody catches it, Node shows the line: it must be one that can be read. */
const READABLE = { minifyWhitespace: false };

const TESTING_MODULE = `import common from './start-vault.cjs';\n\nexport const { startVault } = common;\n`;

export async function bundle() {
  const outdir = path.join(ROOT, 'dist');
  const writer = await writerThread(path.join(outdir, 'chunks'));
  const sources = (names) => names.map((name) => path.join(SOURCES, name));
  const { outExtension: _, ...library } = {
    ...BUNDLE,
    ...READABLE,
    plugins: [],
    define: {},
    inject: [],
    outdir: path.join(outdir, 'library'),
  };
  const [product, imported, common] = await Promise.all([
    build({
      ...BUNDLE,
      define: { ...BUNDLE.define, ...writer.define },
      entryPoints: sources(ENTRY_POINTS),
      outbase: SOURCES,
      outdir,
    }),
    build({ ...library, entryPoints: sources(LIBRARY), outbase: SOURCES }),
    commonLibrary(path.join(outdir, 'library')),
  ]);
  const inputs = [product, imported, common, writer].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const files = new Map([
    ...[...LIBSODIUM_FILES].map(([name, bytes]) => [path.join(outdir, 'chunks', name), bytes]),
    writer.file,
    ...(await productFiles(product, outdir)),
    ...imported.outputFiles.map(({ path: file, contents }) => [file, contents]),
    ...common.files,
    [path.join(outdir, 'LICENSES.txt'), await licences(inputs)],
  ]);

  // Chunks first: whoever starts meanwhile finds all that its entry point imports.
  const isChunk = (file) => file.includes(`${path.sep}chunks${path.sep}`);
  const ordered = [...files].sort(([a], [b]) => Number(isChunk(b)) - Number(isChunk(a)));
  for (const [file, contents] of ordered) {
    await writeIfChanged(file, contents, () => rm(`${file}.cache`, { force: true }));
  }
  const kept = [...files.keys()].flatMap((file) => [file, `${file}.cache`]);
  await removeOthers(outdir, new Set([...kept, path.join(outdir, 'types'), path.join(outdir, 'code-cache.json')]));
  const bytes = ordered.reduce((sum, [, { length }]) => sum + length, 0);
  return `${files.size} files, ${Math.round(bytes / 1024)} KiB`;
}
