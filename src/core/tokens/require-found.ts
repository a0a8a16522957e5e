import type { PresentedToken, TokenCondition } from '../ports.ts';
import { Problem } from '../problem.ts';
import type { TimeRange } from '../scan-ports.ts';
import { presentedColumns } from './clear-columns.ts';
import type { Sought } from './find-page.ts';
import { blindName, sealedIndexes } from './indexes.ts';
import { openPresented, parseDetails } from './token-codec.ts';

/**
 * Checks a token that the store found, but that its opened values exclude. Throws `integrity_failure` if the store
 * could not find the token by indexes that agree with its sealed values. Two texts may share a blind index, such as
 * those with different halves of a surrogate pair: then the token is only not shown.
 */
export function requireFound({ filter: { all, visible }, keyring }: Sought, record: PresentedToken): void {
  const { id, clear } = record;
  const columns = presentedColumns(record);
  const { details } = openPresented(keyring, id, record, columns);
  const { type, created_at, expires_at, index_key_id } = columns;
  const blinds = sealedIndexes(keyring, index_key_id, parseDetails(details));

  function meets(condition: TokenCondition): boolean {
    if ('id_in' in condition) return condition.id_in.includes(id);
    if ('id_prefix' in condition) return id.startsWith(condition.id_prefix);
    if ('type_in' in condition) return condition.type_in.includes(type);
    if ('index_in' in condition) return condition.index_in.some((blind) => blinds.has(blindName(blind)));
    if ('created_in' in condition) return isWithin(created_at, condition.created_in);
    if ('expires_in' in condition) return expires_at !== undefined && isWithin(expires_at, condition.expires_in);
    if ('every' in condition) return condition.every.every(meets);
    if ('some' in condition) return condition.some.some(meets);
    if ('not' in condition) return !meets(condition.not);
    const { offset, from, to } = condition.clear_in;
    const part = clear.subarray(offset, offset + from.length);
    return Buffer.compare(from, part) <= 0 && Buffer.compare(part, to) <= 0;
  }

  const isFound = all.every(meets) && (visible === undefined || visible.some((list) => list.every(meets)));
  if (!isFound) throw new Problem('integrity_failure');
}

function isWithin(at: number, { from, to }: TimeRange): boolean {
  return from <= at && at <= to;
}
