import type { TokenCondition, TokenFilter } from '../../src/core/ports.ts';
import type { HeldToken } from './memory-tenant.ts';

/** Whether a token is one that the filter asks for: the filter's meaning, written down as plainly as it goes. */
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
  // Half a surrogate pair is no prefix of the character that starts with it.
  return record.id.startsWith(condition.id_prefix) && condition.id_prefix.isWellFormed();
}

/** Equal for equal bytes. */
export function bytesKey(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
