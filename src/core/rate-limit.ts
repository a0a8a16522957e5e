import { Problem } from './problem.ts';
import { runningTime } from './timers.ts';

/** A number of calls in a period of `ms` milliseconds. */
export interface Rate {
  readonly calls: number;
  readonly ms: number;
}

/**
 * Returns the problem `too_many_requests`, with the seconds until the next call is allowed, when a name exceeds its
 * limit. Counts the call otherwise.
 */
export type RateLimit = (name: string) => Problem | undefined;

/** The minimum number of names before a limit forgets those whose bucket is full. */
const MIN_NAMES = 1_024;

/**
 * Creates a limit of the calls of each name, such as an account or a network. Each name has a token bucket that holds
 * the calls of one period and refills evenly. `now` returns the time in milliseconds.
 */
export function createRateLimit({ calls, ms }: Rate, now = runningTime): RateLimit {
  const interval = ms / calls;
  /** When the bucket of each name will be full again. */
  const full = new Map<string, number>();
  let nextLook = MIN_NAMES;

  function forgetFull(at: number): void {
    for (const [name, end] of full) if (end <= at) full.delete(name);
    nextLook = Math.max(MIN_NAMES, 2 * full.size);
  }

  return (name) => {
    const at = now();
    const end = full.get(name) ?? at;
    // The clock was set back if the bucket needs more than its period.
    const next = (end > at + ms ? at : Math.max(end, at)) + interval;
    if (next - at > ms) return new Problem('too_many_requests', { retryAfter: Math.ceil((next - at - ms) / 1000) });
    if (full.size >= nextLook) forgetFull(at);
    full.set(name, next);
    return undefined;
  };
}
