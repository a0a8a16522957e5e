import type { TokenCondition, TokenFilter } from '../../src/core/ports.ts';
import type { TimeRange } from '../../src/core/scan-ports.ts';
import type { HeldToken } from './memory-tenant.ts';

/** Returns whether a token matches the filter, in the plainest code possible. */
export function matchesToken(token: HeldToken, filter: TokenFilter): boolean {
  const { all, visible } = filter;
  return (
    all.every((condition) => holds(token, condition)) && (visible === undefined || visible.some(everyHolds(token)))
  );
}

function everyHolds(token: HeldToken): (list: readonly TokenCondition[]) => boolean {
  return (list) => list.every((condition) => holds(token, condition));
}

function holds({ record, blinds }: HeldToken, condition: TokenCondition): boolean {
  if ('id_in' in condition) return condition.id_in.includes(record.id);
  if ('type_in' in condition) return condition.type_in.includes(record.type);
  if ('index_in' in condition) return condition.index_in.some((blind) => blinds.has(bytesKey(blind)));
  if ('created_in' in condition) return isIn(record.created_at, condition.created_in);
  if ('expires_in' in condition)
    return record.expires_at !== undefined && isIn(record.expires_at, condition.expires_in);
  if ('clear_in' in condition) {
    const { offset, from, to } = condition.clear_in;
    const bytes = record.clear.subarray(offset, offset + from.length);
    return Buffer.compare(bytes, from) >= 0 && Buffer.compare(bytes, to) <= 0;
  }
  if ('every' in condition) return condition.every.every((each) => holds({ record, blinds }, each));
  if ('some' in condition) return condition.some.some((each) => holds({ record, blinds }, each));
  if ('not' in condition) return !holds({ record, blinds }, condition.not);
  // Half a surrogate pair matches no character.
  return record.id.startsWith(condition.id_prefix) && condition.id_prefix.isWellFormed();
}

function isIn(at: number, { from, to }: TimeRange): boolean {
  return at >= from && at <= to;
}

/** Returns the same key for the same bytes. */
export function bytesKey(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
