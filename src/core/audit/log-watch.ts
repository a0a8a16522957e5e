import { Problem } from '../problem.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../timers.ts';
import type { AuditStore } from './ports.ts';

/** The interval at which the watch reads the end of the audit for all waiting calls. */
const POLL_MS = 100;
const MAX_WAITING = 64;

interface Waiter {
  readonly rows: number;
  readonly wake: (isEnded: boolean) => void;
}

export type LogWatch = ReturnType<typeof createLogWatch>;

/** Creates a watch, which wakes calls that wait for new rows of the audit. Any process may write the rows. */
export function createLogWatch(store: Pick<AuditStore, 'auditHead'>) {
  const waiting = new Set<Waiter>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let isEnded = false;

  async function look(): Promise<void> {
    const { sequence: rows } = await store.auditHead();
    for (const waiter of waiting) if (rows > waiter.rows) waiter.wake(false);
  }

  return {
    /**
     * Resolves to false when the audit has more than `rows` rows, or after `ms` milliseconds. Resolves to true after
     * `end`. Rejects with `too_many_requests` when too many calls wait.
     */
    async changed(rows: number, ms: number): Promise<boolean> {
      if (isEnded) return true;
      if (waiting.size >= MAX_WAITING) throw new Problem('too_many_requests', { retryAfter: 1 });
      const { promise, resolve: wake } = Promise.withResolvers<boolean>();
      const waiter = { rows, wake };
      waiting.add(waiter);
      timer ??= setInterval(() => void look().catch(() => undefined), POLL_MS);
      const late = setTimeout(wake, ms, false);
      try {
        return await promise;
      } finally {
        clearTimeout(late);
        waiting.delete(waiter);
        if (waiting.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
      }
    },

    /** Ends all current and later waits. */
    end(): void {
      isEnded = true;
      for (const { wake } of waiting) wake(true);
    },

    hasEnded: () => isEnded,
  };
}
