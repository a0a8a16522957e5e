import { reserveFile } from '../reserved-file.ts';
import type { SeedDocument } from './seed-document.ts';
import { type OutFormat, printIds, seededIds } from './seed-output.ts';

/** Longer than any id of an application, and any API key. */
const LONGEST_ID = '0'.repeat(64);
const LONGEST_KEY = '0'.repeat(256);

/**
 * The text of `work`, in a new file of mode 0600 that appears whole. Its place on the disk is taken before the work is done:
 * the keys in it are shown once. Throws the faults `file_exists`, `usage` and `no_space`.
 */
export async function withOutFile<T>(
  { file, format }: { readonly file: string; readonly format: OutFormat },
  document: SeedDocument,
  work: () => Promise<{ readonly text: string; readonly result: T }>,
): Promise<T> {
  const longest = new Map(document.apps.map(({ item }) => [item, { id: LONGEST_ID, key: LONGEST_KEY }]));
  const bytes = Buffer.byteLength(printIds(format, seededIds({ apps: longest }, document)));
  const reserved = await reserveFile('--out-file', file, bytes);
  try {
    const { text, result } = await work();
    await reserved.fill(text);
    return result;
  } finally {
    await reserved.discard();
  }
}
