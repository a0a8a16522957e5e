import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleSources, makeOwnFolder } from '../../scripts/bundle-sources.js';

/** A module of this folder, bundled so that a process of its own can run it: Node does not read TypeScript everywhere. */
export async function bundleApart(name: string): Promise<{ readonly script: string; remove(): void }> {
  const { folder, remove } = makeOwnFolder('check');
  await bundleSources({ entryPoints: [fileURLToPath(new URL(`./${name}.ts`, import.meta.url))], outdir: folder });
  return { script: path.join(folder, `${name}.mjs`), remove };
}
