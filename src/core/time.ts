import type { Instant } from './ports.ts';

/** ISO 8601 as every response shows it: milliseconds, UTC written `+00:00` (decisions §1). */
export function formatInstant(instant: Instant): string {
  return new Date(instant).toISOString().replace('Z', '+00:00');
}
