import { createHash } from 'node:crypto';
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

/**
 * commander runs other programs for subcommands of their own, which there are none of: loading Node's means for that is a
 * tenth of the time of `vault --help`.
 */
export const NO_CHILD_PROCESSES = {
  name: 'no-child-processes',
  setup(hooks) {
    hooks.onResolve({ filter: /^node:child_process$/ }, ({ importer }) => {
      const isCommander = slashes(importer).includes('/node_modules/commander/');
      return isCommander ? { path: 'none', namespace: 'no-child-processes' } : undefined;
    });
    hooks.onLoad({ filter: /.*/, namespace: 'no-child-processes' }, () => {
      return { contents: 'exports.spawn = () => { throw new Error("unreachable"); };', loader: 'js' };
    });
  },
};

/** WebAssembly as base64, and the loop that decodes it. */
const DECODED = /\(\w+=>\{for\(var .{1,400}?return \w+\}\)\("(AGFz[A-Za-z0-9+/]+=*)"\)/g;

/** Where the wrappers call WebAssembly for each of some 300 constants, most of which V8 has to compile a function for. */
const CONSTANTS =
  /(for\(_=0;_<n\.length;_\+\+\)"function"==typeof\(c=r\["_"\+n\[_\]\.toLowerCase\(\)\]\)&&)\(t\[n\[_\]\]=c\(\)\)/g;

const ON_DEMAND = `
  const setOnDemand = (object, name, get) => Object.defineProperty(object, name, { get, enumerable: true, configurable: true });
`;

const RANDOM = 'getRandomValuesOfSystem';

/** Reads the kernel's source in blocks, gives each byte out once and wipes it. Where there is none, asks node:crypto. */
const RANDOM_SOURCE = `
  import { closeSync, openSync, readSync } from 'node:fs';
  import { randomFillSync } from 'node:crypto';
  const pool = new Uint8Array(1024);
  let used = pool.length;
  const refill = () => {
    try {
      const source = openSync('/dev/urandom', 'r');
      try {
        if (readSync(source, pool) === pool.length) return;
      } finally {
        closeSync(source);
      }
    } catch {}
    randomFillSync(pool);
  };
  const getRandomValues = (target) => {
    const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
    if (bytes.length > pool.length) return randomFillSync(target);
    if (used + bytes.length > pool.length) {
      refill();
      used = 0;
    }
    bytes.set(pool.subarray(used, used + bytes.length));
    pool.fill(0, used, (used += bytes.length));
    return target;
  };
  const ${RANDOM} = { getRandomValues };
`;

function replaceOnce(file, text, pattern, replacement) {
  const found = [...text.matchAll(pattern)];
  if (found.length !== 1) throw new Error(`${file}: ${pattern} is found ${found.length} times; look and adapt`);
  return text.replace(pattern, replacement);
}

/**
 * libsodium carries its WebAssembly as base64 text and decodes it with a loop in JavaScript, which is most of the time
 * that it takes to load: this puts the same bytes beside the bundle, to be read. And when it starts it asks Web Crypto for
 * some random bytes, which is all that it ever does with random ones here (nonces, salts and keys come from node:crypto);
 * to load that takes a tenth of Node's own start. The kernel has the same bytes.
 *
 * `files` gets what is to be written: name → bytes.
 */
export function libsodiumFiles(files) {
  return {
    name: 'libsodium-files',
    setup(hooks) {
      hooks.onLoad({ filter: /[\\/]libsodium(-sumo)?\.mjs$/ }, async ({ path: file }) => {
        const contents = replaceOnce(file, await readFile(file, 'utf8'), DECODED, (_whole, base64) => {
          const bytes = Buffer.from(base64, 'base64');
          const name = `${path.basename(file, '.mjs')}-${createHash('sha256').update(bytes).digest('hex').slice(0, 8)}.wasm`;
          files.set(name, bytes);
          return `require("node:fs").readFileSync(require("node:path").join(__dirname,"${name}"))`;
        });
        return { contents: contents.replace('import.meta.url', '""'), loader: 'js' };
      });
      hooks.onLoad({ filter: /[\\/]libsodium-wrappers\.mjs$/ }, async ({ path: file }) => {
        const text = replaceOnce(file, await readFile(file, 'utf8'), CONSTANTS, '$1setOnDemand(t,n[_],c)');
        const contents = `${RANDOM_SOURCE}${ON_DEMAND}${text.replaceAll('globalThis.crypto', RANDOM)}`;
        if (contents.split(RANDOM).length < 4) throw new Error(`${file}: does not ask for Web Crypto; look and adapt`);
        return { contents, loader: 'js' };
      });
    },
  };
}

/**
 * The JavaScript of better-sqlite3 is a dozen small files, which take longer to find than to run; its native part
 * is one. This bundles the former for when the very version that was bundled is found installed, with its binding in
 * the usual place. Anything else is loaded as installed.
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
    hooks.onResolve({ filter: /^better-sqlite3\// }, ({ path: specifier }) => ({ path: specifier, external: true }));
    hooks.onResolve({ filter: /^bindings$/ }, () => ({ path: 'bindings', namespace: 'bundled-sqlite' }));
    hooks.onLoad({ filter: /^sqlite$/, namespace: 'bundled-sqlite' }, () => {
      const contents = `
        import { addon } from 'bindings';
        const all = addon === undefined ? require('better-sqlite3') : require(${JSON.stringify(require.resolve('better-sqlite3'))});
        export default all;`;
      return { contents, resolveDir: ROOT, loader: 'js' };
    });
    hooks.onLoad({ filter: /^bindings$/, namespace: 'bundled-sqlite' }, () => {
      const contents = `
        const find = () => {
          try {
            if (require('better-sqlite3/package.json').version !== ${JSON.stringify(version)}) return undefined;
            return require('better-sqlite3/build/Release/better_sqlite3.node');
          } catch {
            return undefined;
          }
        };
        const addon = find();
        module.exports = () => addon;
        module.exports.addon = addon;`;
      return { contents, resolveDir: ROOT, loader: 'js' };
    });
  },
};

/** Modules of Node that few commands use and that load others in turn. Of these, only functions may be imported. */
const LAZY = ['node:crypto', 'node:fs/promises', 'node:timers/promises'];

/** Loads those modules at the first call of one of their functions, not with the file of the bundle that imports them. */
export const LAZY_BUILTINS = {
  name: 'lazy-builtins',
  setup(hooks) {
    hooks.onResolve({ filter: /^node:/ }, ({ path: name, kind }) => {
      return kind === 'import-statement' && LAZY.includes(name)
        ? { path: name, namespace: 'lazy-builtins' }
        : undefined;
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
