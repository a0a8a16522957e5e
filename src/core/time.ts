import type { Instant } from './ports.ts';

/** ISO 8601 as every response shows it: milliseconds, UTC written `+00:00` (decisions §1). */
export function formatInstant(instant: Instant): string {
  return `${new Date(instant).toISOString().slice(0, -1)}+00:00`;
}
