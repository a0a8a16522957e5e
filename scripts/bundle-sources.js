import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { ROOT } from './build-output.js';

/**
 * A new folder inside the checkout, so that packages are found from there; `name` begins its own. It is gone when this
 * process ends, unless `remove` was called before.
 */
export function makeOwnFolder(name) {
  const parent = path.join(ROOT, 'node_modules', '.cache');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(path.join(parent, `token-vault-${name}-`));
  const removeNow = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', removeNow);
  const remove = () => {
    process.removeListener('exit', removeNow);
    removeNow();
  };
  return { folder, remove };
}

/** In parts, so that it stays what it is here when this module is bundled, too. */
const MODULE_URL = ['import', 'meta', 'url'].join('.');

/** A bundled module finds its neighbours where its source is. */
const OWN_URL = {
  name: 'own-url',
  setup(hooks) {
    hooks.onLoad({ filter: /\.[jt]s$/, namespace: 'file' }, async ({ path: file }) => ({
      contents: (await readFile(file, 'utf8')).replaceAll(MODULE_URL, JSON.stringify(pathToFileURL(file).href)),
      loader: path.extname(file) === '.ts' ? 'ts' : 'js',
    }));
  },
};

/**
 * Bundles TypeScript of the checkout, so that this Node can run it, into `.mjs` files of `outdir`; packages stay outside.
 * `options` are more of esbuild's. Throws what esbuild does.
 *
 * @param {import('esbuild').BuildOptions & { readonly outdir: string }} options
 */
export async function bundleSources({ plugins = [], ...options }) {
  await build({
    absWorkingDir: ROOT,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    packages: 'external',
    plugins: [...plugins, OWN_URL],
    logLevel: 'warning',
    ...options,
  });
}
