import type { Minting } from '../../core/application-ports.ts';
import { Problem } from '../../core/problem.ts';

/**
 * Throws `too_many_requests` when an application already has the most live expiring applications. `next` is the time
 * when the first of them ends.
 */
export function requireQuota({ most, now }: Minting, live: number, next: number | null | undefined): void {
  if (live < most) return;
  throw new Problem('too_many_requests', {
    detail: `The application has ${live} valid expiring applications, and may have ${most}.`,
    retryAfter: Math.max(1, Math.ceil(((next ?? now) - now) / 1000)),
  });
}
