import type { TokenCondition, TokenFilter } from '../../core/ports.ts';

/**
 * A filter that is ready for planning. A token matches if it meets all of `all` and, if given, all conditions of one
 * list in `anyOf`.
 */
export interface TokenQuery {
  readonly all: readonly TokenCondition[];
  readonly anyOf?: readonly (readonly TokenCondition[])[];
}

/**
 * Converts a filter to a query, or returns undefined if no token can match. Moves the conditions of visibility into
 * `all` if that is equivalent, so that an index also serves an application with only container rules or a single rule.
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

/** Returns the query without one of the conditions in `all`. */
export function without(query: TokenQuery, condition: TokenCondition): TokenQuery {
  return { ...query, all: query.all.filter((other) => other !== condition) };
}

/** Returns whether every token meets the query. */
export function isEverything({ all, anyOf }: TokenQuery): boolean {
  return all.length === 0 && anyOf === undefined;
}

/**
 * Returns roughly how many tests the query makes on a token, at least 1. Statements with many tests examine fewer
 * tokens.
 */
export function weightOf({ all, anyOf = [] }: TokenQuery): number {
  return Math.max(1, sum([...all, ...anyOf.flat()]));
}

function sum(conditions: readonly TokenCondition[]): number {
  return conditions.reduce((tests, condition) => tests + testsOf(condition), 0);
}

function testsOf(condition: TokenCondition): number {
  if ('every' in condition) return sum(condition.every);
  if ('some' in condition) return sum(condition.some);
  if ('not' in condition) return testsOf(condition.not);
  return 'index_in' in condition ? condition.index_in.length : 1;
}

/** The number of matches below which a search reads and sorts all of them. Otherwise it walks them, newest first. */
export const FEW = 5000;

/** The minimum of `fewOf`. It is larger than a page, so a search can always find the tokens of a page by their ids. */
const MIN_FEW = 128;

/** Returns the limit for a start whose rows must still be tested: the more tests, the lower the limit. */
export function fewOf(rest: TokenQuery): number {
  return Math.max(MIN_FEW, Math.ceil(FEW / weightOf(rest)));
}

const LAST_CODE_POINT = 0x10ffff;

/**
 * Returns the first text after all texts that start with `prefix`, in the order of UTF-8 bytes, which is that of code
 * points. Returns undefined if there is none, because the prefix is empty or contains only U+10FFFF.
 */
export function successor(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Skip U+D800 to U+DFFF: a well-formed text has no surrogates.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}
