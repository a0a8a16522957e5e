import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A bundled module finds its neighbours where its source is. */
const OWN_URL: Plugin = {
  name: 'own-url',
  setup(hooks) {
    hooks.onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
      loader: 'ts',
    }));
  },
};

/** A module of this folder, bundled so that a process of its own can run it: Node does not read TypeScript everywhere. */
export async function bundleApart(name: string): Promise<{ readonly script: string; remove(): void }> {
  const parent = join(ROOT, 'node_modules', '.cache');
  mkdirSync(parent, { recursive: true });
  // Inside the checkout, so that packages are found from there.
  const script = join(mkdtempSync(join(parent, 'token-vault-check-')), `${name}.mjs`);
  const remove = () => rmSync(dirname(script), { recursive: true, force: true });
  process.once('exit', remove);
  await build({
    absWorkingDir: ROOT,
    entryPoints: [fileURLToPath(new URL(`./${name}.ts`, import.meta.url))],
    outfile: script,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    plugins: [OWN_URL],
    logLevel: 'warning',
  });
  return {
    script,
    remove: () => {
      process.removeListener('exit', remove);
      remove();
    },
  };
}
