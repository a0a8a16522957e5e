import { runningTime, sleep } from '../core/timers.ts';

/** The pause between two slices of a check, in milliseconds. */
const YIELD_MS = 10;

/** The maximum time of a batch that counts, in milliseconds. A longer batch may only have waited for a lock. */
const MAX_BATCH_MS = 20;

/** Pauses between two slices of a check, so that calls go first. A slice takes about a millisecond. */
export function yieldToLoop(): Promise<void> {
  return sleep(YIELD_MS, { ref: false });
}

/**
 * Returns a function that pauses between the batches of long work, each time `times` as long as the last batch took.
 * With 1, calls get the lock, the disk and a processor for about half of the time; with 2, for about two thirds. With
 * `ref` false, a pause does not keep the process alive.
 */
export function yieldBetweenBatches({ times = 1, ref = true } = {}): () => Promise<void> {
  let since = runningTime();
  return async () => {
    await sleep(times * Math.min(runningTime() - since, MAX_BATCH_MS), { ref });
    since = runningTime();
  };
}

/** Calls `remove` until it removes fewer records than a batch has. Resolves to the number of removed records. */
export async function inBatches(batch: number, remove: () => Promise<number>): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await remove();
    removed += count;
    if (count < batch) return removed;
  }
}
