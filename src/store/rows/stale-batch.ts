import { storedNumber, storedText } from './stored-value.ts';

/** The maximum number of sealed bytes in a batch of tokens. A batch is read, opened, sealed and written as a whole. */
const BATCH_BYTES = 1024 * 1024;

/** The number of rows that one step of the walk examines. A step takes a few milliseconds. */
export const WALKED_AT_ONCE = 500;

/**
 * Chooses the tokens of the next batch of a rotation. `walked` has the next rows in order of id: the id, whether the
 * token is under older keys, and its sealed bytes. Returns where the next step continues, undefined at the end.
 */
export function staleBatch(walked: readonly (readonly unknown[])[], limit: number) {
  const ids: string[] = [];
  let bytes = 0;
  for (const [id, isStale, length] of walked) {
    if (isStale !== true && isStale !== 1) continue;
    ids.push(storedText(id));
    bytes += storedNumber(length);
    if (ids.length >= limit || bytes > BATCH_BYTES) return { ids, next: ids.at(-1) };
  }
  return { ids, next: walked.length < WALKED_AT_ONCE ? undefined : storedText(walked.at(-1)?.[0]) };
}
