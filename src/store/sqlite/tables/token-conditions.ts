import type { TokenCondition } from '../../../core/ports.ts';
import type { TimeRange } from '../../../core/scan-ports.ts';
import { isStorableText } from '../../rows/stored-value.ts';
import { successor, type TokenQuery } from '../../rows/token-query.ts';
import { TOKEN_TYPE_CODES } from '../../rows/type-codes.ts';
import type { PlannedQuery } from './plan-query.ts';

export type Value = string | number | Uint8Array;

/** A piece of SQL about the row `t` of `token`, with the values of its parameters. */
export interface Fragment {
  readonly sql: string;
  readonly params: readonly Value[];
}

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

/** A condition as planned. */
export type PlannedCondition = TokenCondition | IndexCondition;

/** Returns the SQL of the whole query, or `TRUE` if it has no conditions. */
export function whereQuery(query: TokenQuery): Fragment {
  const parts = query.all.map(whereCondition);
  if (query.anyOf !== undefined) {
    parts.push(
      join(
        query.anyOf.map((list) => join(list.map(whereCondition), ' AND ')),
        ' OR ',
      ),
    );
  }
  return join(parts, ' AND ');
}

export function whereCondition(condition: PlannedCondition): Fragment {
  if ('id_in' in condition) return whereIn('t.id', condition.id_in.filter(isStorableText));
  if ('id_prefix' in condition) return wherePrefix(condition.id_prefix);
  if ('type_in' in condition) {
    const codes = condition.type_in.map((type) => TOKEN_TYPE_CODES[type]);
    return whereIn('t.type', codes);
  }
  if ('created_in' in condition) return whereBetween('t.created_at', condition.created_in);
  if ('expires_in' in condition) {
    const range = whereBetween('t.expires_at', condition.expires_in);
    return { sql: `(t.expires_at IS NOT NULL AND ${range.sql})`, params: range.params };
  }
  if ('clear_in' in condition) {
    const { offset, from, to } = condition.clear_in;
    return { sql: 'substr(t.clear, +?, +?) BETWEEN ? AND ?', params: [offset + 1, from.length, from, to] };
  }
  if ('every' in condition) return join(condition.every.map(whereCondition), ' AND ');
  if ('some' in condition) return join(condition.some.map(whereCondition), ' OR ');
  if ('not' in condition) {
    const { sql, params } = whereCondition(condition.not);
    return { sql: `NOT (${sql})`, params };
  }
  const { index_in, set_in = [] }: IndexCondition = condition;
  const blind = whereIn('x.blind', index_in);
  const entry = {
    sql: `EXISTS (SELECT 1 FROM token_index x
      WHERE x.tenant = t.tenant AND ${blind.sql} AND x.set_number = t.set_number AND x.created_at = t.created_at
        AND x.token = t.token)`,
    params: blind.params,
  };
  const sets = set_in.length === 0 ? [] : [whereIn('t.set_number', set_in)];
  return join(index_in.length === 0 ? sets : [...sets, entry], ' OR ');
}

/** Returns the SELECT of `column` for the visible entries of an index condition: each token once if it is disjoint. */
export function selectEntries(
  tenant: number,
  { index_in, set_in = [] }: IndexCondition,
  visible: PlannedQuery['visible'],
  column: '1' | 'token',
): Fragment {
  const from = (table: string, where: Fragment): Fragment => ({
    sql: `SELECT ${column} FROM ${table} WHERE tenant = +? AND ${where.sql}`,
    params: [tenant, ...where.params],
  });
  const inSets = visible === undefined ? [] : [whereIn('set_number', visible)];
  const entries = from('token_index', join([whereIn('blind', index_in), ...inSets], ' AND '));
  if (set_in.length === 0) return entries;
  const members = from('token INDEXED BY token_newest', whereIn('set_number', set_in));
  return { sql: `${entries.sql} UNION ALL ${members.sql}`, params: [...entries.params, ...members.params] };
}

const FALSE: Fragment = { sql: 'FALSE', params: [] };

function whereBetween(column: string, { from, to }: TimeRange): Fragment {
  return { sql: `(${column} BETWEEN ? AND ?)`, params: [from, to] };
}

/**
 * Returns `column IN (…)`. Repeats the last value until the number of values is a power of two, so that few statements
 * serve all lengths.
 */
function whereIn(column: string, values: readonly Value[]): Fragment {
  const last = values.at(-1);
  if (last === undefined) return FALSE;
  const length = 2 ** Math.ceil(Math.log2(values.length));
  const params = [...values, ...Array.from({ length: length - values.length }, () => last)];
  return { sql: `${column} IN (${params.map(() => '?').join()})`, params };
}

/** Returns a range of ids for a prefix. LIKE would ignore case, interpret wildcards, and not use the index. */
function wherePrefix(prefix: string): Fragment {
  if (!isStorableText(prefix)) return FALSE;
  const end = successor(prefix);
  return end === undefined
    ? { sql: 't.id >= ?', params: [prefix] }
    : { sql: 't.id >= ? AND t.id < ?', params: [prefix, end] };
}

export function join(parts: readonly Fragment[], operator: ' AND ' | ' OR '): Fragment {
  if (parts.length === 0) return { sql: operator === ' AND ' ? 'TRUE' : 'FALSE', params: [] };
  return { sql: `(${parts.map((part) => part.sql).join(operator)})`, params: parts.flatMap((part) => part.params) };
}
