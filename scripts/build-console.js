import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { FILTERS } from '../src/core/expressions/filters.ts';
import { ROOT } from './build-output.js';

const PAGE = path.join(ROOT, 'src/console/page');
const OUT = path.join(ROOT, 'dist/console');

/** The maximum total size of the page's scripts, styles and icon after gzip, in bytes. */
const MAX_GZIP = 64 * 1024;
/** The maximum size of each of these files before compression, in bytes. */
const MAX_FILE = 200 * 1024;

const OPTIONS = {
  absWorkingDir: ROOT,
  outdir: OUT,
  bundle: true,
  write: false,
  metafile: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome123', 'firefox120', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none', // dist/LICENSES.txt has the full texts
  logLevel: 'warning',
};

/**
 * Bundles the console's page. Resolves to its files by path, each also compressed with Brotli, and to the paths of its
 * sources. Rejects when the page is too large.
 */
export async function bundleConsole() {
  const files = new Map([['favicon.svg', await readFile(path.join(PAGE, 'favicon.svg'))]]);
  const inputs = [];
  let page = await readFile(path.join(PAGE, 'index.html'), 'utf8');
  /** Bundles entry points. Returns the name of the first file, which contains its hash. */
  async function add(names, options) {
    const entryPoints = names.map((name) => path.join(PAGE, name));
    const { outputFiles, metafile } = await build({ ...OPTIONS, entryPoints, ...options });
    inputs.push(...Object.keys(metafile.inputs));
    return outputFiles.map(({ path: file, contents }) => {
      const { name, ext, base } = path.parse(file);
      const hashed = `${name}-${createHash('sha256').update(contents).digest('hex').slice(0, 16)}${ext}`;
      files.set(hashed, Buffer.from(contents));
      page = page.replace(base, hashed);
      return hashed;
    })[0];
  }
  const opening = await add(['opening.ts']);
  await add(['main.tsx', 'main.css'], {
    define: { FILTER_PARAMETERS: JSON.stringify(filterParameters()) },
    plugins: [importedFrom(/\/opening\.ts$/, `./${opening}`)],
  });
  checkBudget([...files.values()]);
  files.set('index.html', Buffer.from(page));
  const compressed = [...files].map(([name, bytes]) => [`${name}.br`, brotliCompressSync(bytes)]);
  const all = [...files, ...compressed].map(([name, bytes]) => [path.join(OUT, name), bytes]);
  return { files: new Map(all), inputs: [...new Set(inputs)] };
}

/** An esbuild plugin that imports a module from its own file, so that both entry points share its state. */
const importedFrom = (filter, file) => ({
  name: 'imported-from',
  setup: (hooks) => hooks.onResolve({ filter }, () => ({ path: file, external: true })),
});

/** Returns the parameters of each filter, so that the page can suggest filters without bundling them. */
function filterParameters() {
  const parametersOf = ({ parameters }) =>
    Object.entries(parameters).map(([name, { fallback }]) => (fallback === undefined ? name : `${name}=${fallback}`));
  return Object.fromEntries(Object.entries(FILTERS).map(([name, filter]) => [name, parametersOf(filter)]));
}

function checkBudget(files) {
  const gzip = files.reduce((sum, bytes) => sum + gzipSync(bytes).length, 0);
  const largest = Math.max(...files.map(({ length }) => length));
  if (gzip <= MAX_GZIP && largest <= MAX_FILE) return;
  throw new Error(`the console's page is too large: ${gzip} bytes after gzip; its largest file has ${largest} bytes`);
}
