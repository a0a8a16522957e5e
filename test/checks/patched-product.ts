import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { WRITER as WRITER_SOURCE } from '../../scripts/build-bundle.js';
import { ROOT } from '../../scripts/build-output.js';
import { makeOwnFolder } from '../../scripts/bundle-sources.js';

const WRITER = basename(WRITER_SOURCE, '.ts');

/** The built product with one line changed: what a check's control runs on. */
export interface PatchedProduct {
  /** Its `bin/vault.js`. */
  readonly bin: string;
  remove(): void;
}

/** Copies the built product into a folder from which its packages are found. */
export function copyProduct(folder: string): void {
  for (const part of ['bin', 'dist', 'package.json']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
}

/**
 * Copies the built product and replaces `before` by `after` in all of its code. Throws unless `before` stands there, in
 * one file, once: a control on an unchanged product would prove nothing.
 */
export function patchProduct(before: string, after: string): PatchedProduct {
  const { folder, remove } = makeOwnFolder('patched');
  copyProduct(folder);
  let replaced = 0;
  for (const name of readdirSync(join(folder, 'dist', 'chunks'))) {
    if (!name.endsWith('.cjs')) continue;
    const file = join(folder, 'dist', 'chunks', name);
    const parts = readFileSync(file, 'latin1').split(before);
    if (parts.length === 1) continue;
    // The thread that writes is bundled apart: what it shares with the others stands in it once more.
    if (!name.startsWith(WRITER)) replaced += parts.length - 1;
    writeFileSync(file, parts.join(after), 'latin1');
    // V8 knows a source by its length only.
    rmSync(`${file}.cache`, { force: true });
  }
  if (replaced !== 1) throw new Error(`"${before}" stands ${replaced} times in the built product, not once`);
  return { bin: join(folder, 'bin', 'vault.js'), remove };
}
