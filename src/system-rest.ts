import { setTimeout as sleep } from 'node:timers/promises';

/** A batch that waited for a lock seems long; nobody gains by waiting as long again. */
const LONGEST_REST_MS = 20;

/**
 * For long work in batches beside a daemon: rests after each batch for as long as that took, so that about half of the time
 * the file's lock, the disk and a processor are others'. Nobody then waits for much more than one batch.
 */
export function restBetweenBatches(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    await sleep(Math.min(performance.now() - since, LONGEST_REST_MS));
    since = performance.now();
  };
}
