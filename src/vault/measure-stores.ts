import type { Meter } from '../core/meter.ts';
import { COMMITS, RETRIES } from '../store/rows/channels.ts';

/** Passes on what the stores of this process publish. Returns a function that ends this. */
export function measureStores(meter: Meter): () => void {
  const onCommit = (waits: unknown) => meter.committed(waits as readonly number[]);
  const onRetry = () => meter.retried();
  COMMITS.subscribe(onCommit);
  RETRIES.subscribe(onRetry);
  return () => {
    COMMITS.unsubscribe(onCommit);
    RETRIES.unsubscribe(onRetry);
  };
}
