import type { Instant } from './ports.ts';

/** Returns whether a record has ended at an instant. */
export function isExpired({ expires_at }: { readonly expires_at?: Instant | undefined }, now: Instant): boolean {
  return expires_at !== undefined && expires_at <= now;
}
