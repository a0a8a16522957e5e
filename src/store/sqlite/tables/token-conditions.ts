import type { TokenCondition, TokenFilter } from '../../../core/ports.ts';
import type { TimeRange } from '../../../core/scan-ports.ts';
import { isStorableText, TOKEN_TYPE_CODES } from './columns.ts';
import type { ContainerSets } from './container-sets.ts';

export type Value = string | number | Uint8Array;

/** A piece of SQL about the row `t` of `token`, with the values of its parameters. */
export interface Fragment {
  readonly sql: string;
  readonly params: readonly Value[];
}

/** A condition as planned. If `isDisjoint` is set, no token has entries under two of the blind indexes. */
export type PlannedCondition = TokenCondition | { readonly index_in: readonly Uint8Array[]; readonly isDisjoint: true };

/**
 * A filter that is ready for planning. A token matches if it meets all of `all` and, if given, all conditions of one
 * list in `anyOf`.
 */
export interface TokenQuery {
  readonly all: readonly PlannedCondition[];
  readonly anyOf?: readonly (readonly PlannedCondition[])[];
}

/** Returns the query with the container sets of each blind index added to its conditions. */
export function withSets({ all, anyOf }: TokenQuery, tenant: number, sets: ContainerSets): TokenQuery {
  const expanded = (condition: PlannedCondition): PlannedCondition => {
    if ('every' in condition) return { every: condition.every.map(expanded) };
    if ('some' in condition) return { some: condition.some.map(expanded) };
    if ('not' in condition) return { not: expanded(condition.not) };
    if (!('index_in' in condition)) return condition;
    const index_in = condition.index_in.flatMap((blind) => sets.searched(tenant, blind));
    return condition.index_in.length === 1 ? { index_in, isDisjoint: true } : { index_in };
  };
  const planned = { all: all.map(expanded) };
  return anyOf === undefined ? planned : { ...planned, anyOf: anyOf.map((list) => list.map(expanded)) };
}

/**
 * Converts a filter to a query. Moves the conditions of visibility into `all` if that is equivalent, so that the index
 * also serves an application with only container rules or a single rule. Returns undefined if no token can match.
 */
export function toQuery(filter: TokenFilter): TokenQuery | undefined {
  const { all, visible } = filter;
  if (visible === undefined || visible.some((list) => list.length === 0)) return { all };
  const lists = mergeSingles(visible);
  const [first] = lists;
  if (first === undefined) return undefined;
  return lists.length === 1 ? { all: [...all, ...first] } : { all, anyOf: lists };
}

/** Merges alternatives of the same kind into one condition: `id = a OR id = b` becomes `id IN (a, b)`. */
function mergeSingles(lists: readonly (readonly TokenCondition[])[]): readonly (readonly TokenCondition[])[] {
  const rest: (readonly TokenCondition[])[] = [];
  const ids: string[] = [];
  const blinds: Uint8Array[] = [];
  for (const list of lists) {
    const [only] = list;
    if (only === undefined || list.length > 1) rest.push(list);
    else if ('id_in' in only) ids.push(...only.id_in);
    else if ('index_in' in only) blinds.push(...only.index_in);
    else rest.push(list);
  }
  if (ids.length > 0) rest.push([{ id_in: ids }]);
  if (blinds.length > 0) rest.push([{ index_in: blinds }]);
  return rest;
}

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

/**
 * Returns roughly how many tests the query makes on a token, at least 1. Statements with many tests examine fewer
 * tokens.
 */
export function weightOf({ all, anyOf = [] }: TokenQuery): number {
  return Math.max(1, sum([...all, ...anyOf.flat()]));
}

function sum(conditions: readonly PlannedCondition[]): number {
  return conditions.reduce((tests, condition) => tests + testsOf(condition), 0);
}

function testsOf(condition: PlannedCondition): number {
  if ('every' in condition) return sum(condition.every);
  if ('some' in condition) return sum(condition.some);
  if ('not' in condition) return testsOf(condition.not);
  return 'index_in' in condition ? condition.index_in.length : 1;
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
  if (condition.index_in.length === 0) return FALSE;
  const blind = whereIn('x.blind', condition.index_in);
  return {
    sql: `EXISTS (SELECT 1 FROM token_index x
      WHERE x.tenant = t.tenant AND ${blind.sql} AND x.created_at = t.created_at AND x.token = t.token)`,
    params: blind.params,
  };
}

const FALSE: Fragment = { sql: 'FALSE', params: [] };

function whereBetween(column: string, { from, to }: TimeRange): Fragment {
  return { sql: `(${column} BETWEEN ? AND ?)`, params: [from, to] };
}

/**
 * Returns `column IN (…)`. Repeats the last value until the number of values is a power of two, so that few statements
 * serve all lengths.
 */
export function whereIn(column: string, values: readonly Value[]): Fragment {
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

const LAST_CODE_POINT = 0x10ffff;

/**
 * Returns the first text after all texts that start with `prefix`, in SQLite's order (UTF-8 bytes, equal to code
 * points). Returns undefined if there is none, because the prefix is empty or contains only U+10FFFF.
 */
export function successor(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Skip U+D800 to U+DFFF: a well-formed text has no surrogates.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

export function join(parts: readonly Fragment[], operator: ' AND ' | ' OR '): Fragment {
  if (parts.length === 0) return { sql: operator === ' AND ' ? 'TRUE' : 'FALSE', params: [] };
  return { sql: `(${parts.map((part) => part.sql).join(operator)})`, params: parts.flatMap((part) => part.params) };
}
