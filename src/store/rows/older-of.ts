import type { TokenRecord } from '../../core/ports.ts';

/** Returns the older of two tokens, in the order of `findDuplicate`. */
export function olderOf(a: TokenRecord | undefined, b: TokenRecord): TokenRecord {
  if (a === undefined || b.created_at < a.created_at) return b;
  if (b.created_at > a.created_at) return a;
  return Buffer.compare(Buffer.from(b.id), Buffer.from(a.id)) < 0 ? b : a;
}
