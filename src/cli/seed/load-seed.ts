import { Fault } from '../../core/fault.ts';
import type { Environment } from '../global-flags.ts';
import { createTextReader } from '../text-reader.ts';
import { readSeedFile } from './read-seed-file.ts';
import { createSeedDocument, type SeedDocument } from './seed-document.ts';

/**
 * Reads the files of one seed, `-` for standard input, and checks them. Throws the fault `usage` for a file that is not there,
 * and `invalid_data` for what is in it.
 */
export async function loadSeed(files: readonly string[], env: Environment, seed: number): Promise<SeedDocument> {
  const readText = createTextReader(() => process.stdin);
  const texts = [];
  for (const file of files) {
    const text = await readText('FILE', file === '-' ? '-' : `@${file}`).catch((error: unknown) => {
      throw error instanceof Fault
        ? new Fault('usage', error.message.replace('FILE: the file after @', file), { cause: error })
        : error;
    });
    texts.push(await readSeedFile(file === '-' ? '<stdin>' : file, text));
  }
  return createSeedDocument(texts, env, seed);
}

/** `--seed`: a whole number from 0. Undefined when it is not given. */
export function parseSeed(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seed = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(seed)) return seed;
  throw new Fault('usage', '--seed is a whole number from 0');
}
