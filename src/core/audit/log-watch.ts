import { Problem } from '../problem.ts';
import type { AuditHead, AuditStore } from './ports.ts';

/** The interval at which the watch reads the end of the audit for all waiting calls. */
const POLL_MS = 100;
/** The maximum number of waiting calls. */
const MAX_WAITING = 64;

interface Waiter {
  readonly rows: number;
  readonly wake: (isEnded: boolean) => void;
}

/** Wakes calls that wait for new rows of the audit, written by any process. */
export interface LogWatch {
  /**
   * Resolves to false when the audit has more than `rows` rows, or after `ms` milliseconds. Resolves to true after
   * `end`. Rejects with `too_many_requests` when too many calls wait.
   */
  changed(rows: number, ms: number): Promise<boolean>;
  /** Ends all current and later waits. */
  end(): void;
  /** Returns whether `end` was called. */
  readonly hasEnded: () => boolean;
}

/** Returns the number of rows of all chains. */
export function countRows(heads: readonly AuditHead[]): number {
  return heads.reduce((sum, { sequence }) => sum + sequence, 0);
}

export function createLogWatch(store: Pick<AuditStore, 'auditHeads'>): LogWatch {
  const waiting = new Set<Waiter>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let isEnded = false;

  async function look(): Promise<void> {
    const rows = countRows(await store.auditHeads());
    for (const waiter of waiting) if (rows > waiter.rows) waiter.wake(false);
  }

  return {
    async changed(rows, ms) {
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

    end() {
      isEnded = true;
      for (const { wake } of waiting) wake(true);
    },

    hasEnded: () => isEnded,
  };
}
