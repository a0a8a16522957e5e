import type { Clock } from '../clock.ts';
import { Problem } from '../problem.ts';

const MINUTE_MS = 60_000;

/**
 * A function that counts a request of an application. Beyond the limit it throws `too_many_requests` with the seconds
 * to wait.
 */
export type MinuteLimit = (applicationId: string) => void;

/** Creates a limit that allows each application `most` requests in each clock minute. */
export function createMinuteLimit(most: number, clock: Clock): MinuteLimit {
  const counts = new Map<string, number>();
  let minute = 0;

  return (applicationId) => {
    const now = clock.now();
    const current = Math.floor(now / MINUTE_MS);
    if (current !== minute) counts.clear();
    minute = current;
    const count = (counts.get(applicationId) ?? 0) + 1;
    const retryAfter = Math.ceil(((current + 1) * MINUTE_MS - now) / 1000);
    if (count > most) throw new Problem('too_many_requests', { retryAfter });
    counts.set(applicationId, count);
  };
}
