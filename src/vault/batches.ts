/** The pause between two slices of a check, in milliseconds. */
const REST_MS = 10;

/** Pauses between two slices of a check, so that calls go first. A slice takes about a millisecond. */
export function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, REST_MS).unref());
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
