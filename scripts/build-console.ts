import { readFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type BuildOptions, build, type PluginBuild } from 'esbuild';
import { signatureOf } from '../src/core/expressions/filter.ts';
import { FILTERS } from '../src/core/expressions/filters.ts';
import { ESBUILD, type MoreOptions, ROOT } from './build-output.ts';

const PAGE = path.join(ROOT, 'src/console/page');
const OUT = path.join(ROOT, 'dist/console');

/** The maximum total size of the page's scripts, styles and icon after gzip, in bytes. */
const MAX_GZIP = 72 * 1024;
/** The maximum size of each of these files before compression, in bytes. */
const MAX_FILE = 200 * 1024;

const OPTIONS = {
  ...ESBUILD,
  outdir: OUT,
  entryNames: '[name]-[hash]',
  loader: { '.svg': 'copy' },
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome123', 'firefox120', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
} satisfies BuildOptions;

/**
 * Bundles the console's page. Resolves to esbuild's result, with index.html and a Brotli copy of each file added.
 * Rejects when the page is too large.
 */
export async function bundleConsole() {
  const bundlePage = (names: readonly string[], options: MoreOptions = {}) =>
    build({ ...OPTIONS, entryPoints: names.map((name) => path.join(PAGE, name)), ...options });
  const opening = await bundlePage(['opening.ts']);
  // The page imports opening.ts from its own file, so that both scripts share its state.
  const external = { path: `./${path.basename(opening.outputFiles[0]?.path ?? '')}`, external: true };
  const setup = (hooks: PluginBuild) => hooks.onResolve({ filter: /\/opening\.ts$/ }, () => external);
  const page = await bundlePage(['main.tsx', 'main.css', 'favicon.svg'], {
    define: { FILTER_SIGNATURES: JSON.stringify(filterSignatures()) },
    plugins: [{ name: 'opening', setup }],
  });
  const assets = [...opening.outputFiles, ...page.outputFiles];
  checkBudget(assets.map(({ contents }) => contents));
  let html = readFileSync(path.join(PAGE, 'index.html'), 'utf8');
  for (const { base } of assets.map((file) => path.parse(file.path)))
    html = html.replace(base.replace(/-\w{8}/, ''), base);
  const files = [...assets, { path: path.join(OUT, 'index.html'), contents: Buffer.from(html) }];
  const compressed = files.map(({ path: file, contents }) => ({
    path: `${file}.br`,
    contents: brotliCompressSync(contents),
  }));
  const inputs = { ...opening.metafile.inputs, ...page.metafile.inputs };
  return { outputFiles: [...files, ...compressed], metafile: { inputs } };
}

/** Returns each filter with its parameters, so that the page can suggest filters without bundling them. */
function filterSignatures() {
  return Object.fromEntries(Object.entries(FILTERS).map(([name, filter]) => [name, signatureOf(name, filter)]));
}

function checkBudget(files: readonly Uint8Array[]): void {
  const gzip = files.reduce((sum, bytes) => sum + gzipSync(bytes).length, 0);
  const largest = Math.max(...files.map(({ length }) => length));
  if (gzip <= MAX_GZIP && largest <= MAX_FILE) return;
  throw new Error(`the console's page is too large: ${gzip} bytes after gzip; its largest file has ${largest} bytes`);
}
