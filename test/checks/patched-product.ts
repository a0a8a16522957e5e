import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/build-output.ts';
import { mustAllFail } from './check.ts';
import { makeFolder } from './folder.ts';

/** The code of the command and of the writer thread. The thread has its own bundle, which repeats shared code. */
const COMMAND = 'dist/chunks';
const THREAD = 'dist/vault/writer-thread.js';

const texts = new Set<string>();

/** Declares a text of the built product that a control replaces. A test finds each of them in the product. */
export function builtText<Text extends string>(text: Text): Text {
  texts.add(text);
  return text;
}

export const builtTexts: ReadonlySet<string> = texts;

/** Copies the built product into the checkout, so that Node finds its packages. `bin` is its command. */
export function copyProduct() {
  const parent = join(ROOT, 'node_modules', '.cache');
  mkdirSync(parent, { recursive: true });
  const { path: folder, [Symbol.dispose]: remove } = makeFolder(parent);
  for (const part of ['dist', 'package.json']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  return { folder, bin: join(folder, 'dist', 'vault.cjs'), remove, [Symbol.dispose]: remove };
}

/** Replaces `before` with `after` in a file. Returns the number of replacements. */
function replaceIn(file: string, before: string, after: string): number {
  const parts = readFileSync(file, 'utf8').split(before);
  if (parts.length > 1) writeFileSync(file, parts.join(after));
  return parts.length - 1;
}

/**
 * Copies the built product and replaces `before` with `after` in its code, and the first text with the second in each of
 * `more`. Throws unless the command's code contains each text exactly once, because a control on an unchanged product
 * proves nothing.
 */
export function patchProduct(
  before: string,
  after: string,
  ...more: readonly (readonly [before: string, after: string])[]
) {
  const product = copyProduct();
  const chunks = join(product.folder, COMMAND);
  for (const [from, to] of [[before, after] as const, ...more]) {
    if (!texts.has(from)) throw new TypeError(`declare "${from}" with builtText`);
    const counts = readdirSync(chunks).map((name) => replaceIn(join(chunks, name), from, to));
    replaceIn(join(product.folder, THREAD), from, to);
    const replaced = counts.reduce((sum, count) => sum + count, 0);
    if (replaced !== 1) throw new Error(`"${from}" occurs ${replaced} times in the built product, not once`);
  }
  return product;
}

export async function withPatch<T>(
  patches: Readonly<Parameters<typeof patchProduct>>,
  work: (bin: string) => Promise<T>,
): Promise<T> {
  using product = patchProduct(...patches);
  return await work(product.bin);
}

/** A guard as the built product has it, the code without it, and the attack that must then succeed. */
export type Guard = readonly [guard: string, without: string, attack: (bin: string) => unknown];

/** Removes each guard from the product. Rejects with a `CheckFailure` if every attack succeeds, as it must. */
export function removeGuards(guards: readonly Guard[]): Promise<void> {
  return mustAllFail(
    guards.map(
      ([guard, without, attack]) =>
        () =>
          withPatch([guard, without], async (bin) => attack(bin)),
    ),
  );
}
