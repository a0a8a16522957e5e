import type { Instant } from '../ports.ts';

/**
 * How far ahead the end of an expiring application may be, in milliseconds: a day (§4.2), and a minute for processes
 * whose clocks differ.
 */
const MAX_AHEAD_MS = 86_400_000 + 60_000;

/** Returns the latest end of a valid expiring application at `now`. A later end was set under a wrong clock. */
export const latestEnd = (now: Instant): Instant => now + MAX_AHEAD_MS;
