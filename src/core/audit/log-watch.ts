import { Problem } from '../problem.ts';
import type { AuditStore } from './ports.ts';

/** The interval at which the watch reads the end of the audit for all waiting calls. */
const POLL_MS = 100;
/** The maximum number of waiting calls. */
const MAX_WAITING = 64;

interface Waiter {
  readonly sequence: number;
  readonly wake: (isEnded: boolean) => void;
}

/** Wakes calls that wait for new rows of the audit, written by any process. */
export interface LogWatch {
  /**
   * Resolves to false when the audit has a row after `sequence`, or after `ms` milliseconds. Resolves to true after
   * `end`. Rejects with `too_many_requests` when too many calls wait.
   */
  changed(sequence: number, ms: number): Promise<boolean>;
  /** Ends all current and later waits. */
  end(): void;
}

export function createLogWatch(store: Pick<AuditStore, 'auditHead'>): LogWatch {
  const waiting = new Set<Waiter>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let isEnded = false;

  async function look(): Promise<void> {
    const { sequence } = await store.auditHead();
    for (const waiter of waiting) if (sequence > waiter.sequence) waiter.wake(false);
  }

  return {
    async changed(sequence, ms) {
      if (isEnded) return true;
      if (waiting.size >= MAX_WAITING) throw new Problem('too_many_requests', { retryAfter: 1 });
      const { promise, resolve: wake } = Promise.withResolvers<boolean>();
      const waiter = { sequence, wake };
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

    end() {
      isEnded = true;
      for (const { wake } of waiting) wake(true);
    },
  };
}
