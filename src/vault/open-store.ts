import { Fault } from '../core/fault.ts';
import type { Store } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { runningTime, sleep } from '../core/timers.ts';
import { openVaultStore } from '../store/postgres/open-vault-store.ts';
import { type DatabaseClock, startDatabaseClock } from './clock/database-clock.ts';
import { MACHINE, type Times } from './clock/system-clock.ts';
import type { StoreLocation } from './location.ts';

/** The maximum age of the time from the database, in milliseconds. With an older time, the vault is not ready. */
const MAX_CLOCK_AGE_MS = 30_000;
/** The pause between two attempts to reach the database. */
const RETRY_MS = 500;

/** How long to wait for a database that is not reachable yet. */
export interface StoreWait {
  readonly ms: number;
  /** Called once, before the first pause, with the reason to wait. */
  readonly onWait: (reason: Fault) => void;
}

/**
 * Connects to the database of a vault and starts its clock. The vault is still locked. Rejects with the faults
 * `store_missing`, `store_unreachable` after the wait, `store_refused`, `store_insecure`, `damaged` and
 * `newer_format`.
 */
export async function openStore({ url, insecure }: StoreLocation, wait?: StoreWait) {
  const { header, store, readClock } = await whenReachable(() => openVaultStore(url, { insecure }), wait);
  try {
    const clock = await startDatabaseClock(readClock);
    // The processes of a vault differ by at most half a round trip each.
    const times: Times = { wall: clock.now, running: runningTime, asleep: MACHINE.asleep };
    return { header, store: withClock(store, clock), times };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Returns the store with a `ping` that rejects while the time is too old, and a `close` that also stops the clock. */
export function withClock(store: Store, clock: DatabaseClock): Store {
  return {
    ...store,
    async ping() {
      if (clock.age() > MAX_CLOCK_AGE_MS) throw new Problem('vault_busy', { retryAfter: 1 });
      await store.ping();
    },
    async close() {
      clock.stop();
      await store.close();
    },
  };
}

async function whenReachable<T>(open: () => Promise<T>, wait: StoreWait | undefined): Promise<T> {
  const deadline = runningTime() + (wait?.ms ?? 0);
  for (let tries = 1; ; tries += 1) {
    try {
      return await open();
    } catch (error) {
      const isTemporary = error instanceof Fault && error.code === 'store_unreachable';
      if (!isTemporary || wait === undefined || runningTime() >= deadline) throw error;
      if (tries === 1) wait.onWait(error);
      await sleep(Math.min(RETRY_MS, deadline - runningTime()));
    }
  }
}
