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

/**
 * Bundles the console's page. Resolves to its files by path, each also compressed with Brotli, and to the paths of its
 * sources. Rejects when the page is too large.
 */
export async function bundleConsole() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [path.join(PAGE, 'main.tsx'), path.join(PAGE, 'main.css')],
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
    define: { FILTER_PARAMETERS: JSON.stringify(filterParameters()) },
    legalComments: 'none', // dist/LICENSES.txt has the full texts
    logLevel: 'warning',
  });
  const files = new Map([['favicon.svg', await readFile(path.join(PAGE, 'favicon.svg'))]]);
  let page = await readFile(path.join(PAGE, 'index.html'), 'utf8');
  for (const { path: file, contents } of outputFiles) {
    const { name, ext, base } = path.parse(file);
    const hash = createHash('sha256').update(contents).digest('hex').slice(0, 16);
    files.set(`${name}-${hash}${ext}`, Buffer.from(contents));
    page = page.replace(base, `${name}-${hash}${ext}`);
  }
  checkBudget([...files.values()]);
  files.set('index.html', Buffer.from(page));
  const compressed = [...files].map(([name, bytes]) => [`${name}.br`, brotliCompressSync(bytes)]);
  const all = [...files, ...compressed].map(([name, bytes]) => [path.join(OUT, name), bytes]);
  return { files: new Map(all), inputs: Object.keys(metafile.inputs) };
}

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
