import type { Meter } from '../core/meter.ts';
import { COMMITS, RETRIES } from '../store/rows/channels.ts';

/** Reports the commits and retries of this process's stores to a meter. Returns a function that stops the reports. */
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
