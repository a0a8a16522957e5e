import { runningTime, sleep } from '../../../core/timers.ts';
import { RETRIES } from '../../rows/channels.ts';
import { isBusy } from '../file/sqlite-error.ts';

/** How long a caller waits for a lock that another process holds, in milliseconds. */
export const BUSY_DEADLINE_MS = 5000;

const MAX_PAUSE_MS = 40;

/**
 * Waits before attempt number `attempt` (from 1). The pause grows slowly, since most locks last a few milliseconds. It
 * is random, so that two processes do not keep colliding.
 */
export async function busyPause(attempt: number): Promise<void> {
  RETRIES.publish(undefined);
  const longest = Math.min(MAX_PAUSE_MS, 2 ** Math.min(attempt / 2, 6));
  await sleep(1 + Math.random() * longest);
}

/**
 * Calls `attempt` until no other connection's lock blocks it, and returns its result. Throws the last error after the
 * deadline. SQLite's own waiting is synchronous and would stop the event loop, so callers wait here.
 */
export async function retryBusy<T>(attempt: () => T, deadlineMs: number = BUSY_DEADLINE_MS): Promise<T> {
  const deadline = runningTime() + deadlineMs;
  for (let count = 1; ; count += 1) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || runningTime() >= deadline) throw error;
    }
    await busyPause(count);
  }
}
