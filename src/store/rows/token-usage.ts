import type { TenantUsage } from '../../core/ports.ts';
import { storedCount, storedInstant, storedNumber } from './stored-value.ts';
import { storedTokenType } from './type-codes.ts';

/**
 * Returns the figures of each type. `counts` has rows of a type, its number of tokens and its last creation. `expired`
 * has rows of a type and the number of its expired tokens, which do not count.
 */
export function usageOf(
  counts: readonly (readonly unknown[])[],
  expired: readonly (readonly unknown[])[],
): TenantUsage['types'] {
  const gone = new Map(expired.map(([type, tokens]) => [type, storedNumber(tokens)]));
  return counts.map(([type, tokens, last]) => ({
    type: storedTokenType(type),
    count: storedCount(storedNumber(tokens) - (gone.get(type) ?? 0)),
    last_created_at: storedInstant(last),
  }));
}
