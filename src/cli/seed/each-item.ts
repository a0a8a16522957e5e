import { memberLines, Problem } from '../../core/problem.ts';
import { invalidSeed } from './seed-flaws.ts';

/**
 * `work` for the items, `atOnce` of them at a time, begun in their order. What the vault refuses as invalid is collected, and
 * the others go on; after any other failure none is begun. Throws the other failure, else the fault `invalid_data` with all
 * that was refused.
 */
export async function eachItem<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const refused = new Map<number, readonly string[]>();
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const at = next++;
      await work(items[at] as T).catch((error: unknown) => {
        const lines = linesOf(error);
        if (lines !== undefined) {
          refused.set(at, lines);
          return;
        }
        failed = true;
        throw error;
      });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  const lines = [...refused].sort(([a], [b]) => a - b).flatMap(([, said]) => said);
  if (lines.length > 0) throw invalidSeed(lines);
}

/** Its members are named by where they stand in the file. */
function linesOf(error: unknown): readonly string[] | undefined {
  if (!(error instanceof Problem) || error.code !== 'invalid_request' || error.errors === undefined) return undefined;
  return memberLines(error.errors);
}
