import { chmodSync, globSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import manifest from '../package.json' with { type: 'json' };
import lockfile from '../package-lock.json' with { type: 'json' };
import { billOfMaterials, type LockedPackage } from './bill-of-materials.ts';
import { bundleConsole } from './build-console.ts';
import { ESBUILD, type MoreOptions, ROOT, writeIfChanged } from './build-output.ts';
import { manPages } from './man-pages.ts';

const SOURCES = path.join(ROOT, 'src');
const DIST = path.join(ROOT, 'dist');

/** Matches the folder of a package in the path of a file. */
const PACKAGE_FOLDER = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const LICENCE_FILE = /^(licen[cs]e|copying)(-mit)?(\.md|\.txt)?$/i;

/** Options of every bundle of the product. Packages with native code, and those that open a vault, stay external, as published. */
export const BUNDLE = {
  ...ESBUILD,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  // Prefer ES modules: their export names survive `await import()` of a chunk.
  mainFields: ['module', 'main'],
  external: Object.keys(manifest.dependencies),
  outbase: SOURCES,
  outdir: DIST,
  minifySyntax: true,
  minifyWhitespace: true,
  logOverride: { 'ambiguous-reexport': 'error' },
} satisfies BuildOptions;

const HANDLERS = readFileSync(path.join(SOURCES, 'core/handlers.ts'), 'utf8');

/** Every command loads this file with its static imports. */
const MAIN = 'cli/main.ts';

/** Groups of modules. A command that opens a vault also imports `open`, and `handlers` for most calls. */
const OPEN = [
  'vault/vault.ts',
  'client/direct.ts',
  'core/tokens/get.ts',
  'store/sqlite/file/open-vault-file.ts',
  'keyring/master-key.ts',
];
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  open: OPEN,
  handlers: Array.from(HANDLERS.matchAll(/'\.\/(\w+\/.*?)'/g), ([, name]) => `core/${name}`),
};

/** Matches what does not load the group `open`. A dry run loads it, because it validates its body. */
const WITHOUT_OPEN = /^(open$|client|cli\/(?!commands|derive\/dry-run))/;

/**
 * An esbuild plugin that keeps the number of chunks small. esbuild puts two files into one chunk only when the same
 * entry points reach both. Each `import()` is an entry point, so a command would load forty chunks. The plugin makes
 * each group one entry point, and every other lazily loaded file imports MAIN and `open` first.
 */
const FEW_CHUNKS: Plugin = {
  name: 'few-chunks',
  setup(hooks) {
    hooks.onResolve({ filter: /\.ts$/ }, ({ path: name, kind, resolveDir }) => {
      const file = path.relative(SOURCES, path.resolve(resolveDir, name)).replaceAll(path.sep, '/');
      if (kind === 'import-statement' || file.startsWith('..')) return undefined;
      const group = Object.keys(GROUPS).find((each) => GROUPS[each]?.includes(file));
      return { path: group ?? file, namespace: 'lazy' };
    });
    hooks.onLoad({ filter: /./, namespace: 'lazy' }, ({ path: name }) => {
      const { [name]: members = [name] } = GROUPS;
      const before = [MAIN, ...(WITHOUT_OPEN.test(name) ? [] : OPEN)];
      const imports = ["'node:crypto'", ...before.map((file) => `'./${file}'`)].map((from) => `import ${from};`);
      const exports = members.map((file) => `export * from './${file}';`);
      return { contents: [...imports, ...exports].join(''), resolveDir: SOURCES };
    });
  },
};

/** Matches the Node modules that together take a tenth of a command's time to load. */
const SLOW = /^(node:)?(child_process|crypto|fs|fs\/promises|os|path|timers\/promises|url|util)$/;

/**
 * An esbuild plugin that loads a slow Node module on the first call of one of its functions. It replaces
 * the product's `import` of Node modules, because `import` runs all lazy getters of a module. It marks exports as pure,
 * so that esbuild drops the unused ones.
 */
const LAZY_BUILTINS: Plugin = {
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
      const isLazy = (each: string) => isSlow && /^[a-z]/.test(each) && typeof module[each] === 'function';
      const members = names.map((each) =>
        isLazy(each)
          ? `export function ${each}(...args) { return load().${each}(...args); }`
          : `export const ${each} = /* @__PURE__ */ (() => load().${each})();`,
      );
      const all = isSlow ? `{ ${names.map((each) => `get ${each}() { return load().${each}; }`)} }` : 'load()';
      const load = `let loaded; const load = () => (loaded ??= process.getBuiltinModule('${name}'));`;
      return { contents: `${load} export default /* @__PURE__ */ (() => (${all}))(); ${members.join(' ')}` };
    });
  },
};

/** Defines `require`. It loads Node's modules without `import.meta`, which Node needs a millisecond to create. */
const REQUIRE = {
  banner: {
    js: "const $builtin=process.getBuiltinModule,require=name=>$builtin(name)??$builtin('module').createRequire(import.meta.url)(name);",
  },
};

/** Keeps line breaks in libraries, because Node prints the source line of an uncaught error. */
const READABLE = { minifyWhitespace: false };

const SHARED = { splitting: true, chunkNames: 'shared/[name]-[hash]', ...READABLE };

const bundleModules = (names: readonly string[], options: MoreOptions) =>
  build({ ...BUNDLE, entryPoints: names.map((name) => path.join(SOURCES, `${name}.ts`)), ...options });

/** Bundles the `vault` command. Resolves to esbuild's result. */
export const bundleProduct = () =>
  bundleModules(['cli/main'], {
    entryNames: 'cli/main',
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [LAZY_BUILTINS, FEW_CHUNKS],
    ...REQUIRE,
  });

/** The library as CommonJS for test runners. Some lack `import()`, so each entry point is one file without it. */
const COMMON = {
  ...READABLE,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  supported: { 'dynamic-import': false },
  define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
} satisfies BuildOptions;

/** The names of the program. Each is a file, because a shell of Windows passes on only the name of the file. */
const PROGRAMS = ['vault', 'token-vault'];

/** Bundles the start of the program. A Node that is too old for the rest must read it. */
const bundleStart = () =>
  bundleModules([], {
    ...COMMON,
    entryPoints: PROGRAMS.map((out) => ({ in: path.join(ROOT, 'bin/vault.ts'), out })),
    supported: {},
    target: 'node14',
  });

/** Returns an ES module that re-exports `name` from a CommonJS file, so that dist/ has only one copy of the product. */
const wrap = (file: string, name: string) => `import common from './${file}';\n\nexport const { ${name} } = common;\n`;

interface Installed extends LockedPackage {
  readonly dev?: boolean;
  readonly folder: string;
}

/** The packages of package-lock.json. */
const { '': own, ...locked } = lockfile.packages;
const PACKAGES: readonly Installed[] = Object.entries<Omit<Installed, 'name' | 'folder'>>(locked).map(
  ([folder, entry]) => ({
    ...entry,
    folder,
    name: folder.replace(/.*node_modules\//, ''),
  }),
);

/** Returns a text with the licences of packages. */
function licences(bundled: readonly Installed[]): string {
  const texts = bundled.map(({ folder, name, version, license }) => {
    const file = readdirSync(path.join(ROOT, folder)).find((each) => LICENCE_FILE.test(each));
    if (file === undefined) throw new Error(`${folder} has no licence`);
    return `${name} ${version} (${license})\n\n${readFileSync(path.join(ROOT, folder, file), 'utf8').trim()}\n`;
  });
  return `The files in this folder contain these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** Writes the bundles, licences, bill of materials and man pages to dist/. */
async function bundle() {
  const builds = await Promise.all([
    bundleProduct(),
    bundleModules(['vault/writer-thread', 'vault/file-commands-thread'], REQUIRE),
    bundleModules(['client/remote'], { ...SHARED, ...REQUIRE }),
    // These also run in web pages, so they import no Node modules.
    bundleModules(['client/create-client', 'contract/operations'], SHARED),
    bundleModules(['client/create-client', 'library/open-vault', 'testing/start-vault'], COMMON),
    bundleConsole(),
    bundleStart(),
  ]);
  const inputs = builds.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  // The generated validators contain code of ajv.
  const folders = new Set(['node_modules/ajv', ...inputs.map((input) => input.match(PACKAGE_FOLDER)?.[0])]);
  const bundled = PACKAGES.filter(({ folder }) => folders.has(folder));
  const shipped = PACKAGES.filter((each) => !each.dev || bundled.includes(each));
  const outputs = builds.flatMap(({ outputFiles }) => outputFiles);
  const files = new Map<string, string | Uint8Array>([
    ...outputs.map(({ path: file, contents }) => [file, contents] as const),
    [path.join(DIST, 'library/open-vault.js'), wrap('open-vault.cjs', 'openVault')],
    [path.join(DIST, 'testing/start-vault.js'), wrap('start-vault.cjs', 'startVault')],
    ...[...(await manPages())].map(([name, page]) => [path.join(DIST, 'man', name), page] as const),
    [path.join(DIST, 'LICENSES.txt'), licences(bundled)],
    [path.join(DIST, 'sbom.cdx.json'), await billOfMaterials(shipped)],
  ]);
  // Write chunks first, so that a command started during the build finds every file that its entry point imports.
  const isChunk = ([file]: readonly [string, unknown]) => /-[A-Z0-9]{8}\.\w+$/.test(file);
  const inOrder = [...files].sort((a, b) => Number(isChunk(b)) - Number(isChunk(a)));
  for (const [file, contents] of inOrder) writeIfChanged(file, contents);
  for (const name of PROGRAMS) chmodSync(path.join(DIST, `${name}.cjs`), 0o755);
  const present = globSync('{chunks,shared,man,console}/*', { cwd: DIST }).map((name) => path.join(DIST, name));
  for (const stale of present.filter((file) => !files.has(file))) rmSync(stale);
}

if (realpathSync(process.argv[1] ?? '') === import.meta.filename) await bundle();
