import type { LeftRows } from '../../core/ports.ts';

/** Returns an empty list, for a caller of `removeExpired` that makes one batch and passes none. */
export function noLeftRows(): LeftRows {
  return { token: new Set(), application: new Set(), application_key: new Set() };
}
