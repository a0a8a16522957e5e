import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './build-output.js';

/** What esbuild plugins do to packages on their way into the bundle. Each refuses what it no longer recognizes. */

const slashes = (file) => file.split(path.sep).join('/');

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
export const NAMED_EXPORTS = {
  name: 'named-exports',
  setup(hooks) {
    hooks.onResolve({ filter: /^[^./]/ }, async ({ path: specifier, kind, resolveDir, pluginData }) => {
      if (kind !== 'dynamic-import' || pluginData === NAMED_EXPORTS || resolveDir.includes('node_modules')) return;
      const found = await hooks.resolve(specifier, { kind, resolveDir, pluginData: NAMED_EXPORTS });
      if (found.external || found.errors.length > 0 || found.namespace !== 'file') return found;
      if (!(await isCommonJs(found.path))) return found;
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

/** Replaces the one place that looks as it is known to. */
function replaceOnce(file, text, known, replacement) {
  if (text.split(known).length !== 2) throw new Error(`${file}: ${known} is not there once; look and adapt`);
  return text.replace(known, () => replacement);
}

/**
 * commander runs other programs for subcommands of their own, which there are none of: loading Node's means for that is a
 * tenth of the time of `vault --help`. And it makes a command for whoever does not make one.
 */
export const LEAN_COMMANDER = {
  name: 'lean-commander',
  setup(hooks) {
    hooks.onLoad({ filter: /[\\/]commander[\\/]index\.js$/ }, async ({ path: file }) => {
      return { contents: replaceOnce(file, await readFile(file, 'utf8'), 'exports.program = new Command();', '') };
    });
    hooks.onResolve({ filter: /^node:child_process$/ }, ({ importer }) => {
      const isCommander = slashes(importer).includes('/node_modules/commander/');
      return isCommander ? { path: 'none', namespace: 'lean-commander' } : undefined;
    });
    hooks.onLoad({ filter: /.*/, namespace: 'lean-commander' }, () => {
      return { contents: 'exports.spawn = () => { throw new Error("unreachable"); };', loader: 'js' };
    });
  },
};

/** Of this package's own manifest only what the sources read. */
export const OWN_MANIFEST = {
  name: 'own-manifest',
  setup(hooks) {
    hooks.onLoad({ filter: /[\\/]package\.json$/ }, async ({ path: file }) => {
      if (path.relative(ROOT, file) !== 'package.json') return;
      const { version } = JSON.parse(await readFile(file, 'utf8'));
      return { contents: JSON.stringify({ version }), loader: 'json' };
    });
  },
};

/**
 * The JavaScript of better-sqlite3 is a dozen small files, which take longer to find than to run; its native part
 * is one. This bundles the former for when the very version that was bundled is found installed, with its binding in
 * the usual place. Anything else is loaded as installed. It is looked for as Node does, in the `node_modules` of each
 * folder from this one upwards, but by its files: Node reads what a manifest says of a path, and takes four times as long.
 */
export const BUNDLED_SQLITE = {
  name: 'bundled-sqlite',
  setup(hooks) {
    const require = createRequire(path.join(ROOT, 'package.json'));
    const { version } = require('better-sqlite3/package.json');
    // From 13 on it finds its binding by itself, without `bindings`.
    const known = version.startsWith('12.');
    hooks.onResolve({ filter: /^better-sqlite3$/ }, ({ namespace }) => {
      return known && namespace !== 'bundled-sqlite' ? { path: 'sqlite', namespace: 'bundled-sqlite' } : undefined;
    });
    hooks.onLoad({ filter: /[\\/]better-sqlite3[\\/]lib[\\/]methods[\\/]backup\.js$/ }, async ({ path: file }) => {
      const made = 'promisify(fs.access)';
      return { contents: replaceOnce(file, await readFile(file, 'utf8'), made, `(...words) => ${made}(...words)`) };
    });
    hooks.onResolve({ filter: /^better-sqlite3\// }, ({ path: specifier, namespace }) => {
      const isManifest = known && namespace !== 'bundled-sqlite' && specifier === 'better-sqlite3/package.json';
      return isManifest ? { path: 'manifest', namespace: 'bundled-sqlite' } : { path: specifier, external: true };
    });
    hooks.onResolve({ filter: /^bindings$/ }, () => ({ path: 'bindings', namespace: 'bundled-sqlite' }));
    hooks.onLoad({ filter: /^sqlite$/, namespace: 'bundled-sqlite' }, () => {
      const contents = `
        import { addon } from 'bindings';
        const all = addon === undefined ? require('better-sqlite3') : require(${JSON.stringify(require.resolve('better-sqlite3'))});
        export default all;`;
      return { contents, resolveDir: ROOT, loader: 'js' };
    });
    hooks.onLoad({ filter: /^manifest$/, namespace: 'bundled-sqlite' }, () => {
      const contents = `
        import { addon } from 'bindings';
        const found = { version: ${JSON.stringify(version)} };
        export default addon === undefined ? require('better-sqlite3/package.json') : found;`;
      return { contents, resolveDir: ROOT, loader: 'js' };
    });
    hooks.onLoad({ filter: /^bindings$/, namespace: 'bundled-sqlite' }, () => {
      const contents = `
        const { existsSync, readFileSync } = require('node:fs');
        const path = require('node:path');
        const find = () => {
          for (let folder = __dirname, above; folder !== above; above = folder, folder = path.dirname(folder)) {
            const installed = path.join(folder, 'node_modules', 'better-sqlite3');
            if (!existsSync(installed)) continue;
            const { version } = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'));
            if (version !== ${JSON.stringify(version)}) return undefined;
            return require(path.join(installed, 'build', 'Release', 'better_sqlite3.node'));
          }
        };
        let addon;
        try {
          addon = find();
        } catch {}
        module.exports = () => addon;
        module.exports.addon = addon;`;
      return { contents, resolveDir: ROOT, loader: 'js' };
    });
  },
};

/** Modules of Node that few commands use and that load others in turn. Of these, only functions may be imported, execa apart. */
const LAZY = ['node:crypto', 'node:fs/promises', 'node:timers/promises'];

/** Loads those modules at the first call of one of their functions, not with the file of the bundle that imports them. */
export const LAZY_BUILTINS = {
  name: 'lazy-builtins',
  setup(hooks) {
    hooks.onResolve({ filter: /^node:/ }, ({ path: name, kind, importer }) => {
      const isLazy = LAZY.includes(name) && !/\/node_modules\/(execa|which-command)\//.test(slashes(importer));
      return kind === 'import-statement' && isLazy ? { path: name, namespace: 'lazy-builtins' } : undefined;
    });
    hooks.onLoad({ filter: /.*/, namespace: 'lazy-builtins' }, async ({ path: name }) => {
      const functions = Object.entries(await import(name)).filter(
        ([key, value]) => key !== 'default' && typeof value === 'function',
      );
      const exported = functions.map(([key]) => `export const ${key} = (...words) => load().${key}(...words);`);
      const contents = `let loaded;\nconst load = () => (loaded ??= require('${name}'));\n${exported.join('\n')}`;
      return { contents, loader: 'js' };
    });
  },
};

/**
 * `performance` loads all of perf_hooks when it is first touched; the time that a process has been running, in
 * milliseconds, is known without. Only differences of it are ever used.
 */
export const RUNNING_TIME = {
  define: { 'performance.now': 'runningTime' },
  inject: [path.join(ROOT, 'scripts/running-time.js')],
};
