import { Problem } from '../core/problem.ts';
import { runningTime } from '../core/running-time.ts';
import { createForgetfulMap } from './forgetful-map.ts';

/** A number of calls in a period of `ms` milliseconds. */
export interface Rate {
  readonly calls: number;
  readonly ms: number;
}

/**
 * Returns a function that counts a call of an application. When the application exceeds its limit, the function returns
 * the problem `too_many_requests`, with the seconds until the next call is allowed. The limit is a token bucket that
 * holds the calls of one period, and fills evenly. `now` is a monotonic clock in milliseconds.
 */
export function createRateLimit({ calls, ms }: Rate, now = runningTime) {
  const interval = ms / calls;
  /** When the bucket of each application will be full again. */
  const full = createForgetfulMap<number>((end) => end <= now());

  return (applicationId: string): Problem | undefined => {
    const at = now();
    const next = Math.max(full.get(applicationId) ?? at, at) + interval;
    if (next - at > ms) return new Problem('too_many_requests', { retryAfter: Math.ceil((next - at - ms) / 1000) });
    full.set(applicationId, next);
    return undefined;
  };
}
