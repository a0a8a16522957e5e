import type { TokenCondition } from '../../../core/ports.ts';
import { type Fragment, join, raw, type Scalar, sql } from '../../rows/fragment.ts';
import { isStorableText } from '../../rows/stored-value.ts';
import type { TokenQuery } from '../../rows/token-query.ts';
import { TOKEN_TYPE_CODES } from '../../rows/type-codes.ts';
import * as rows from '../../rows/where.ts';
import type { PlannedQuery } from './plan-query.ts';

/**
 * A condition on blind indexes as planned: the token has one of the indexes, or is in one of the numbered sets. If
 * `isDisjoint` is set, no token meets two of the alternatives.
 */
export interface IndexCondition {
  readonly index_in: readonly Uint8Array[];
  readonly set_in?: readonly number[];
  readonly isDisjoint?: true;
  /** Those of `index_in` that tokens of numbered sets can have. Absent: all of them. */
  readonly inNumbered?: readonly Uint8Array[];
}

export type PlannedCondition = TokenCondition | IndexCondition;

export const whereQuery = (query: TokenQuery): Fragment => rows.queryFragment(query, whereOwn);
export const whereCondition = (condition: PlannedCondition): Fragment => rows.conditionFragment(condition, whereOwn);

function whereOwn(condition: rows.OwnCondition): Fragment {
  if ('id_in' in condition) return whereIn('t.id', condition.id_in.filter(isStorableText));
  if ('type_in' in condition) {
    const codes = condition.type_in.map((type) => TOKEN_TYPE_CODES[type]);
    return whereIn('t.type', codes);
  }
  if ('clear_in' in condition) {
    const { offset, from, to } = condition.clear_in;
    return sql`substr(t.clear, +${offset + 1}, +${from.length}) BETWEEN ${from} AND ${to}`;
  }
  const { index_in, set_in = [] }: IndexCondition = condition;
  const entry = sql`EXISTS (SELECT 1 FROM token_index x
    WHERE x.tenant = t.tenant AND ${whereIn('x.blind', index_in)} AND x.set_number = t.set_number
      AND x.created_at = t.created_at AND x.token = t.token)`;
  const sets = set_in.length === 0 ? [] : [whereIn('t.set_number', set_in)];
  return join(index_in.length === 0 ? sets : [...sets, entry], 'OR');
}

/** Returns the SELECT of `column` for the visible entries of an index condition: each token once if it is disjoint. */
export function selectEntries(
  { tenant, visible }: Pick<PlannedQuery, 'tenant' | 'visible'>,
  { index_in, set_in = [] }: IndexCondition,
  column: '1' | 'token',
): Fragment {
  const from = (table: string, where: Fragment) =>
    sql`SELECT ${raw(`${column} FROM ${table}`)} WHERE tenant = +${tenant} AND ${where}`;
  const inSets = visible === undefined ? [] : [whereIn('set_number', visible)];
  const entries = from('token_index', join([whereIn('blind', index_in), ...inSets], 'AND'));
  if (set_in.length === 0) return entries;
  return sql`${entries} UNION ALL ${from('token INDEXED BY token_newest', whereIn('set_number', set_in))}`;
}

/**
 * Returns `column IN (…)`. Repeats the last value until the number of values is a power of two, so that few statements
 * serve all lengths.
 */
function whereIn(column: string, values: readonly Scalar[]): Fragment {
  if (values.length === 0) return raw('FALSE');
  const length = 2 ** Math.ceil(Math.log2(values.length));
  const padded = [...values, ...Array.from({ length: length - values.length }, () => values.at(-1))];
  return { sql: `${column} IN (${padded.map(() => '?').join()})`, params: padded };
}
