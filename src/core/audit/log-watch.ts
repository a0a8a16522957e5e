import { Problem } from '../problem.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../timers.ts';
import type { AuditStore } from './ports.ts';

/** The interval at which the watch reads the end of the audit for all waiting calls. */
const POLL_MS = 100;
/** The maximum numbers of waiting calls of an account, of a tenant and of all. */
const [MAX_OF_ACCOUNT, MAX_OF_TENANT, MAX_WAITING] = [8, 32, 64];

/** The caller that waits. */
export interface WatchingCaller {
  readonly account: string;
  readonly tenant_id: string;
  /** Returns whether its client has disconnected. */
  readonly isAbandoned: () => boolean;
}

interface Waiter extends WatchingCaller {
  readonly rows: number;
  readonly wake: (isEnded: boolean) => void;
}

export type LogWatch = ReturnType<typeof createLogWatch>;

/** Creates a watch, which wakes calls that wait for new rows of the audit. Any process may write the rows. */
export function createLogWatch(store: Pick<AuditStore, 'auditHead'>) {
  const waiting = new Set<Waiter>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let isEnded = false;

  function isFull({ account, tenant_id }: WatchingCaller): boolean {
    const all = [...waiting];
    const ofTenant = all.filter((one) => one.tenant_id === tenant_id);
    const ofAccount = ofTenant.filter((one) => one.account === account);
    return ofAccount.length >= MAX_OF_ACCOUNT || ofTenant.length >= MAX_OF_TENANT || all.length >= MAX_WAITING;
  }

  async function look(): Promise<void> {
    const { sequence: rows } = await store.auditHead();
    for (const waiter of waiting) if (rows > waiter.rows || waiter.isAbandoned()) waiter.wake(false);
  }

  return {
    /**
     * Resolves to false when the audit has more than `rows` rows, or after `ms` milliseconds. Resolves to true after
     * `end`. Rejects with `too_many_requests` when too many calls wait, or too many of the account or of the tenant.
     */
    async changed(rows: number, ms: number, caller: WatchingCaller): Promise<boolean> {
      if (isEnded) return true;
      if (isFull(caller)) throw new Problem('too_many_requests', { retryAfter: 1 });
      const { promise, resolve: wake } = Promise.withResolvers<boolean>();
      const waiter = { ...caller, rows, wake };
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
