import { type Fragment, sql } from '../rows/fragment.ts';
import { isStorableText } from '../rows/stored-value.ts';
import type { TokenQuery } from '../rows/token-query.ts';
import { TOKEN_TYPE_CODES } from '../rows/type-codes.ts';
import * as rows from '../rows/where.ts';
import { blindText } from './uuid-text.ts';

/** Returns the numbers of the container sets that contain one of these blind indexes. */
type SetsOf = (blinds: readonly string[]) => readonly number[];

/** Returns the tests of the whole query on the live row `t` of `token`; TRUE if it has no conditions. */
export function whereQuery(query: TokenQuery, setsOf: SetsOf): Fragment {
  return rows.queryFragment(query, (condition) => {
    if ('id_in' in condition) return sql`t.id = ANY (${idsOf(condition.id_in)}::text[])`;
    if ('type_in' in condition) {
      return sql`t.type = ANY (${condition.type_in.map((type) => TOKEN_TYPE_CODES[type])}::smallint[])`;
    }
    if ('clear_in' in condition) {
      const { offset, from, to } = condition.clear_in;
      return sql`(substring(t.clear FROM ${offset + 1}::int FOR ${from.length}::int)
        BETWEEN ${from}::bytea AND ${to}::bytea)`;
    }
    const blinds = blindsOf(condition.index_in);
    const numbers = setsOf(blinds);
    const own = sql`t.blinds && ${blinds}::uuid[]`;
    return numbers.length === 0 ? own : sql`(t.set_number = ANY (${numbers}::smallint[]) OR ${own})`;
  });
}

/** Returns the ids that the store can hold, without repetitions. */
export function idsOf(ids: readonly string[]): readonly string[] {
  return [...new Set(ids.filter(isStorableText))];
}

/** Returns blind indexes as texts, without repetitions. */
export function blindsOf(blinds: readonly Uint8Array[]): readonly string[] {
  return [...new Set(blinds.map(blindText))];
}
