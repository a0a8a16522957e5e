import { hash } from 'node:crypto';
import type { TokenFilter } from '../../core/ports.ts';

/** The maximum number of container sets of a tenant that have a number. A list of all tokens walks each of them. */
export const MAX_SET_NUMBER = 15;

const NAME_LENGTH = 16;

/** Returns the name of a set of containers. */
export function nameOf(containers: readonly Uint8Array[]): Buffer {
  return hash('sha256', Buffer.concat([...containers].sort(Buffer.compare)), 'buffer').subarray(0, NAME_LENGTH);
}

/**
 * Returns the containers of each rule of visibility. A token that a rule shows is in one container of each of the
 * rule's lists. Returns undefined if a rule names no container: the set of a token then decides nothing.
 */
export function containerRules(
  visible: TokenFilter['visible'],
): readonly (readonly (readonly Uint8Array[])[])[] | undefined {
  const rules = visible?.map((list) =>
    list.flatMap((condition) => ('index_in' in condition ? [condition.index_in] : [])),
  );
  return rules?.every((lists) => lists.length > 0) ? rules : undefined;
}
