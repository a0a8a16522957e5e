import type { Instant, TokenCondition } from '../../core/ports.ts';
import type { TimeRange } from '../../core/scan-ports.ts';
import { isStorableText } from '../rows/stored-value.ts';
import { successor, type TokenQuery } from '../rows/token-query.ts';
import { TOKEN_TYPE_CODES } from '../rows/type-codes.ts';
import { type Fragment, join, raw, sql } from './fragment.ts';
import { blindText } from './uuid-text.ts';

/** Returns the numbers of the container sets that contain one of these blind indexes. */
export type SetsOf = (blinds: readonly string[]) => readonly number[];

/** Returns the tests of the whole query on the live row `t` of `token`; TRUE if it has no conditions. */
export function whereQuery({ all, anyOf }: TokenQuery, setsOf: SetsOf): Fragment {
  const where = (condition: TokenCondition) => whereCondition(condition, setsOf);
  const every = (list: readonly TokenCondition[]) => join(list.map(where), 'AND');
  return anyOf === undefined ? every(all) : join([every(all), join(anyOf.map(every), 'OR')], 'AND');
}

/** Returns the test that the row `t` has not expired. */
export function isLive(now: Instant): Fragment {
  return sql`(t.expires_at IS NULL OR t.expires_at > ${now})`;
}

function whereCondition(condition: TokenCondition, setsOf: SetsOf): Fragment {
  if ('id_in' in condition) return sql`t.id = ANY (${idsOf(condition.id_in)}::text[])`;
  if ('id_prefix' in condition) return wherePrefix('t.id', condition.id_prefix);
  if ('type_in' in condition) {
    return sql`t.type = ANY (${condition.type_in.map((type) => TOKEN_TYPE_CODES[type])}::smallint[])`;
  }
  if ('index_in' in condition) {
    const blinds = blindsOf(condition.index_in);
    const numbers = setsOf(blinds);
    const own = sql`t.blinds && ${blinds}::uuid[]`;
    return numbers.length === 0 ? own : sql`(t.set_number = ANY (${numbers}::smallint[]) OR ${own})`;
  }
  if ('created_in' in condition) return whereBetween('t.created_at', condition.created_in);
  if ('expires_in' in condition) {
    return sql`(t.expires_at IS NOT NULL AND ${whereBetween('t.expires_at', condition.expires_in)})`;
  }
  if ('clear_in' in condition) {
    const { offset, from, to } = condition.clear_in;
    return sql`(substring(t.clear FROM ${offset + 1}::int FOR ${from.length}::int)
      BETWEEN ${from}::bytea AND ${to}::bytea)`;
  }
  const where = (part: TokenCondition) => whereCondition(part, setsOf);
  if ('every' in condition) return join(condition.every.map(where), 'AND');
  if ('some' in condition) return join(condition.some.map(where), 'OR');
  return sql`NOT (${where(condition.not)})`;
}

/** Returns the ids that the store can hold, without repetitions. */
export function idsOf(ids: readonly string[]): readonly string[] {
  return [...new Set(ids.filter(isStorableText))];
}

/** Returns blind indexes as texts, without repetitions. */
export function blindsOf(blinds: readonly Uint8Array[]): readonly string[] {
  return [...new Set(blinds.map(blindText))];
}

function whereBetween(column: string, { from, to }: TimeRange): Fragment {
  return sql`(${raw(column)} BETWEEN ${from}::bigint AND ${to}::bigint)`;
}

/** Returns a range of ids for a prefix. LIKE would interpret wildcards. */
export function wherePrefix(column: string, prefix: string): Fragment {
  if (!isStorableText(prefix)) return raw('FALSE');
  const id = raw(column);
  const end = successor(prefix);
  return end === undefined ? sql`(${id} >= ${prefix})` : sql`(${id} >= ${prefix} AND ${id} < ${end})`;
}
