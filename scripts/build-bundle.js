import { readdir, readFile, rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';
import manifest from '../package.json' with { type: 'json' };
import lockfile from '../package-lock.json' with { type: 'json' };
import { bundleConsole } from './build-console.js';
import { ROOT, writeIfChanged } from './build-output.js';

const SOURCES = path.join(ROOT, 'src');
const DIST = path.join(ROOT, 'dist');

/** The entry point of the `vault` command. */
const PRODUCT = ['cli/main.ts'];

/** The library entry points that need Node. */
const REMOTE = ['client/remote.ts'];

/** The library entry points that also run in web pages, so they import no Node modules. */
const LIBRARY = ['client/create-client.ts', 'contract/operations.ts'];

/**
 * The library entry points as CommonJS for test runners. Each is one file without `import()`, which some runners lack.
 */
const COMMON = ['client/create-client.ts', 'library/open-vault.ts', 'testing/start-vault.ts'];

const LICENCE_FILE = /^(licen[cs]e|copying)(-mit)?(\.md|\.txt)?$/i;

/**
 * Options of every bundle. Packages with native code or cryptography stay external, as published.
 *
 * @type {import('esbuild').BuildOptions}
 */
export const BUNDLE = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  target: 'node22',
  // Prefer ES modules: their export names survive `await import()` of a chunk.
  mainFields: ['module', 'main'],
  external: Object.keys(manifest.dependencies),
  outbase: SOURCES,
  outdir: DIST,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none', // dist/LICENSES.txt has the full texts
  metafile: true,
  write: false,
  logLevel: 'warning',
  logOverride: { 'ambiguous-reexport': 'error' },
};

const sources = (names) => names.map((name) => path.join(SOURCES, name));

/**
 * Groups of modules. Every command loads `start`. A command that opens a vault also loads `open`, by `await import()`.
 */
const GROUPS = {
  start: ['cli/program.ts', 'cli/run-operation.ts', 'cli/report-failure.ts', 'cli/credential.ts'],
  open: [
    'vault/vault.ts',
    'client/direct.ts',
    'core/tokens/get.ts',
    'store/sqlite/file/open-vault-file.ts',
    'keyring/follow-master-key.ts',
    'keyring/sodium.ts',
  ],
};

/** Matches the lazily loaded files that need no open vault, so they do not load the group `open`. */
const WITHOUT_VAULT = /^(client|cli\/(?!commands))/;

/**
 * An esbuild plugin that keeps the number of chunks small. esbuild puts two files into one chunk only when the same
 * entry points reach both. Each `import()` is an entry point, so a command would load forty chunks, and each takes a
 * millisecond. The plugin makes each group one entry point, and every other lazily loaded file imports the groups
 * first.
 */
const FEW_CHUNKS = {
  name: 'few-chunks',
  setup(hooks) {
    const nameOf = (file) => path.relative(SOURCES, file).split(path.sep).join('/');
    const text = (verb, names) =>
      sources(names)
        .map((file) => `${verb} ${JSON.stringify(file)};`)
        .join('');
    hooks.onResolve({ filter: /./ }, ({ path: name, kind, resolveDir }) => {
      const file = path.resolve(resolveDir, name);
      const isEntry = kind === 'dynamic-import' && name.startsWith('.');
      if (!isEntry || !file.startsWith(SOURCES)) return undefined;
      const group = Object.keys(GROUPS).find((each) => GROUPS[each].includes(nameOf(file)));
      return { path: group ?? file, namespace: group === undefined ? 'lazy' : 'group' };
    });
    hooks.onLoad({ filter: /./, namespace: 'group' }, ({ path: group }) => {
      const before = group === 'start' ? [] : GROUPS.start;
      return { contents: text('import', before) + text('export * from', GROUPS[group]), resolveDir: SOURCES };
    });
    hooks.onLoad({ filter: /./, namespace: 'lazy' }, ({ path: file }) => {
      const before = [...GROUPS.start, ...(WITHOUT_VAULT.test(nameOf(file)) ? [] : GROUPS.open)];
      return { contents: `${text('import', before)}export * from ${JSON.stringify(file)};`, resolveDir: SOURCES };
    });
  },
};

/** Matches the Node modules that together take a tenth of a command's time to load. */
const SLOW = /^(node:)?(child_process|crypto|fs|fs\/promises|os|path|timers\/promises|url|util)$/;

/**
 * An esbuild plugin that loads a slow Node module on the first call of one of its functions. It loads other Node
 * modules by `require`, because `import` runs all lazy getters of a module. It marks exports as pure, so that esbuild
 * drops the unused ones.
 */
const LAZY_BUILTINS = {
  name: 'lazy-builtins',
  setup(hooks) {
    hooks.onResolve({ filter: /^[a-z]/ }, ({ path: name, kind, importer }) => {
      const isEarly = !importer.includes('node_modules') || importer.includes('commander');
      const isLazy = isEarly && kind === 'import-statement' && isBuiltin(name);
      return isLazy ? { path: name, namespace: 'builtin' } : undefined;
    });
    hooks.onLoad({ filter: /./, namespace: 'builtin' }, async ({ path: name }) => {
      const { default: module } = await import(name);
      const names = Object.keys(module);
      const isSlow = SLOW.test(name);
      const isLazy = (each) => isSlow && /^[a-z]/.test(each) && typeof module[each] === 'function';
      const members = names.map((each) =>
        isLazy(each)
          ? `export function ${each}(...args) { return load().${each}(...args); }`
          : `export const ${each} = /* @__PURE__ */ (() => load().${each})();`,
      );
      const all = isSlow ? `{ ${names.map((each) => `get ${each}() { return load().${each}; }`)} }` : 'load()';
      const load = `let loaded; const load = () => (loaded ??= require(${JSON.stringify(name)}));`;
      return { contents: `${load} export default /* @__PURE__ */ (() => (${all}))(); ${members.join(' ')}` };
    });
  },
};

/** Defines `require` for bundled CommonJS packages. */
const REQUIRE = {
  banner: { js: "import{createRequire as $require}from'node:module';const require=$require(import.meta.url);" },
};

/** Keeps line breaks in libraries, because Node prints the source line of an uncaught error. */
const READABLE = { minifyWhitespace: false };

const SHARED = { splitting: true, chunkNames: 'shared/[name]-[hash]', ...READABLE };

/** Returns an ES module that re-exports `name` from a CommonJS file, so that dist/ has only one copy of the product. */
const wrap = (file, name) => `import common from './${file}';\n\nexport const { ${name} } = common;\n`;

const bundleModules = (names, options) => build({ ...BUNDLE, entryPoints: sources(names), format: 'esm', ...options });

/** Bundles the `vault` command. Resolves to esbuild's result. */
export const bundleProduct = () =>
  bundleModules(PRODUCT, {
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [LAZY_BUILTINS, FEW_CHUNKS],
    ...REQUIRE,
  });

const bundleCommon = () =>
  build({
    ...BUNDLE,
    ...READABLE,
    entryPoints: sources(COMMON),
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    supported: { 'dynamic-import': false },
    define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
  });

/** The folders of the packages that npm installs with the product: its direct and indirect dependencies. */
const INSTALLED = Object.keys(lockfile.packages).filter((folder) => folder !== '' && !lockfile.packages[folder].dev);

/** Returns the folders of the packages whose files are in a bundle. */
function bundledFolders(inputs) {
  const folders = inputs.map((input) => input.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/)?.[0]);
  return [...new Set(folders)].filter((folder) => folder !== undefined).sort();
}

async function readPackage(folder) {
  const { name, version, license } = JSON.parse(await readFile(path.join(ROOT, folder, 'package.json'), 'utf8'));
  return { folder, name, version, license };
}

/** Resolves to a text with the licences of the bundled packages. */
async function licences(packages) {
  const texts = packages.map(async ({ folder, name, version, license }) => {
    const file = (await readdir(path.join(ROOT, folder))).find((each) => LICENCE_FILE.test(each));
    const text = file === undefined ? '' : `\n${(await readFile(path.join(ROOT, folder, file), 'utf8')).trim()}\n`;
    return `${name} ${version} (${license})\n${text}`;
  });
  return `The files in this folder contain these packages.\n\n${(await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** Returns a CycloneDX 1.6 document of the bundled and the installed packages. */
function billOfMaterials(bundled, installed) {
  const component = ({ name, version, license }) => ({
    type: 'library',
    name,
    version,
    scope: 'required',
    licenses: [{ license: { id: license } }],
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  });
  const own = { ...component(manifest), scope: undefined, type: 'application' };
  const components = [...installed, ...bundled].map(component);
  const bom = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata: { component: own }, components };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

/** Writes the bundles, licences, bill of materials and man pages to dist/. Resolves to a one-line summary. */
export async function bundle() {
  const builds = await Promise.all([
    bundleProduct(),
    bundleModules(['vault/writer-thread.ts'], REQUIRE),
    bundleModules(['vault/file-commands-thread.ts'], REQUIRE),
    bundleModules(REMOTE, { ...SHARED, ...REQUIRE }),
    bundleModules(LIBRARY, SHARED),
    bundleCommon(),
  ]);
  const page = await bundleConsole();
  const inputs = builds.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const folders = bundledFolders([...inputs, ...page.inputs]);
  const bundled = await Promise.all(folders.map(readPackage));
  const installed = await Promise.all(INSTALLED.map(readPackage));
  const { manPages } = await import('../src/cli/man-pages.ts');
  const files = new Map([
    // Write chunks first, so that a command started during the build finds every file that its entry point imports.
    ...builds.flatMap(({ outputFiles }) => outputFiles.map(({ path: file, contents }) => [file, contents])),
    ...page.files,
    [path.join(DIST, 'library/open-vault.js'), wrap('open-vault.cjs', 'openVault')],
    [path.join(DIST, 'testing/start-vault.js'), wrap('start-vault.cjs', 'startVault')],
    ...[...(await manPages())].map(([name, page]) => [path.join(DIST, 'man', name), page]),
    [path.join(DIST, 'LICENSES.txt'), await licences(bundled)],
    [path.join(DIST, 'sbom.cdx.json'), billOfMaterials(bundled, installed)],
  ]);
  const isChunk = (file) => /[\\/](chunks|shared)[\\/]/.test(file);
  const ordered = [...files].sort(([a], [b]) => Number(isChunk(b)) - Number(isChunk(a)));
  for (const [file, contents] of ordered) await writeIfChanged(file, contents);
  for (const folder of ['chunks', 'shared', 'man', 'console']) {
    const names = await readdir(path.join(DIST, folder));
    const stale = names.map((name) => path.join(DIST, folder, name)).filter((file) => !files.has(file));
    await Promise.all(stale.map((file) => rm(file)));
  }
  const bytes = ordered.reduce((sum, [, { length }]) => sum + length, 0);
  return `${files.size} files, ${Math.round(bytes / 1024)} KiB`;
}
