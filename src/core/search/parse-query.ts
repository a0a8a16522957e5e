import { TOKEN_TYPE_NAMES } from '../../contract/token-types.ts';
import { DAY_MS, parseInstant } from '../time.ts';

const MAX_CLAUSES = 64;
const MAX_DEPTH = 20;

const MATCH_FIELDS = ['data', 'id', 'fingerprint', 'type', 'container', 'created_by', 'modified_by'] as const;
const RANGE_FIELDS = ['created_at', 'modified_at', 'expires_at'] as const;
export const QUERY_FIELDS: readonly string[] = [...MATCH_FIELDS, 'metadata', ...RANGE_FIELDS];

export type MatchField = (typeof MATCH_FIELDS)[number];
export type RangeField = (typeof RANGE_FIELDS)[number];

export type Query =
  | { readonly kind: 'and'; readonly parts: readonly Query[] }
  | { readonly kind: 'or'; readonly parts: readonly Query[] }
  | { readonly kind: 'not'; readonly part: Query }
  | {
      readonly kind: 'match';
      readonly field: MatchField | 'metadata';
      /** The key of a metadata clause. */
      readonly key?: string;
      readonly value: string;
      /** Set when the clause also matches all containers below the value. */
      readonly below?: true;
    }
  | {
      readonly kind: 'range';
      readonly field: RangeField;
      /** The bound in milliseconds since 1970; undefined for an open end. */
      readonly from: number | undefined;
      readonly fromInclusive: boolean;
      readonly to: number | undefined;
      readonly toInclusive: boolean;
    };

const TYPES = TOKEN_TYPE_NAMES.join(', ');
const FIELDS = QUERY_FIELDS.join(', ').replace('metadata', 'metadata.KEY');

/**
 * Matches a character that means a wildcard or a boost in other query languages. As a plain character in a word, it
 * would silently match nothing.
 */
const FOREIGN = /[*?^]/;

const BLANKS = /\s*/y;
const WORD = /[^\s()"[\]{}]+/y;
const FIELD = /([a-z_]+)(?:\.(?:"((?:[^"\\]|\\["\\])*)"|([^\s()":]+)))?:/y;
const QUOTED = /"((?:[^"\\]|\\["\\])*)"/y;
const RANGE = /([[{])\s*([^\s[\]{}]+)\s+TO\s+([^\s[\]{}]+)\s*([\]}])/y;
const NOT = /NOT(?=[\s(])|[!-]/y;
const OPERATOR = /(?:AND|OR|NOT)(?=[\s()]|$)/y;
const AND = /AND(?=[\s(])/y;
const OR = /OR(?=[\s(])/y;
const TIME = /^\d{4}-\d\d-\d\d(T(?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** Reports what is wrong with a query, with a position in characters from 1. The console also parses queries. */
export class QueryError extends Error {}

/**
 * Parses a search query. Throws a `QueryError`.
 *
 *     query   = or ;            or = and { "OR" and } ;      and = unary { [ "AND" ] unary } ;
 *     unary   = [ "NOT" | "!" | "-" ] primary ;              primary = "(" or ")" | field ":" value | field ":" range ;
 *     value   = word | '"' text '"' ;                        range = ("[" | "{") bound "TO" bound ("]" | "}") ;
 *     bound   = date | "*" ;
 *
 * A text between quotes has the escapes `\"` and `\\`. A word contains no `*`, `?` or `^`, except `*` at the end of a
 * container.
 */
export function parseQuery(text: string): Query {
  let at = 0;
  let clauses = 0;

  const query = or(0);
  if (at < text.length) fail('expected AND, OR or the end of the query');
  return query;

  function or(depth: number): Query {
    const parts = [and(depth)];
    while (take(OR)) parts.push(and(depth));
    return joined('or', parts);
  }

  function and(depth: number): Query {
    const parts = [unary(depth)];
    while (take(AND) || !(at === text.length || text[at] === ')' || sees(OR))) parts.push(unary(depth));
    return joined('and', parts);
  }

  function unary(depth: number): Query {
    if (!take(NOT)) return primary(depth);
    const part = primary(depth);
    return part.kind === 'not' ? part.part : { kind: 'not', part };
  }

  function primary(depth: number): Query {
    skipBlanks();
    if (text[at] !== '(') return clause();
    if (depth === MAX_DEPTH) fail(`more than ${MAX_DEPTH} levels of nested parentheses`);
    at += 1;
    const query = or(depth + 1);
    if (text[at] !== ')') fail('expected ")"');
    at += 1;
    return query;
  }

  function clause(): Query {
    const start = at;
    const named = sees(OPERATOR) ? null : read(FIELD);
    if (text[at] === '^') refuseForeign('^', at);
    if (!named) return fail('expected FIELD:VALUE');
    clauses += 1;
    if (clauses > MAX_CLAUSES) fail(`more than ${MAX_CLAUSES} clauses`, start);
    const [, field = '', quotedKey, plainKey] = named;
    const key = plainKey ?? (quotedKey === undefined ? undefined : unescaped(quotedKey));
    if (plainKey !== undefined) refuseForeign(plainKey, start + field.length + 1);
    if (field === 'metadata' && key) return { kind: 'match', field, key, value: value() };
    const ranged = RANGE_FIELDS.find((known) => known === field);
    if (key === undefined && ranged !== undefined) return range(ranged);
    const matched = MATCH_FIELDS.find((known) => known === field);
    if (key !== undefined || matched === undefined) return fail(`unknown field; use ${FIELDS}`, start);
    return match(matched);
  }

  function match(field: MatchField): Query {
    const [position, isQuoted] = [at, text[at] === '"'];
    const found = value(field === 'container');
    if (field === 'type' && !TOKEN_TYPE_NAMES.some((name) => name === found))
      fail(`unknown type; use ${TYPES}`, position);
    if (field !== 'container' || isQuoted || !found.endsWith('*')) return { kind: 'match', field, value: found };
    if (!/^(?:.*\/)?\*$/.test(found)) fail('expected / before *', position);
    return { kind: 'match', field, value: found.slice(0, -1) || '/', below: true };
  }

  /** Reads a value. `mayEndWithStar` allows a `*` at the end of a word. */
  function value(mayEndWithStar = false): string {
    const quoted = read(QUOTED);
    if (quoted) return unescaped(quoted[1] ?? '');
    if (text[at] === '"') fail('expected a closing quote');
    const start = at;
    const word = read(WORD)?.[0];
    if (word === undefined) return fail('expected a value; put quotes around blanks, parentheses and brackets');
    refuseForeign(mayEndWithStar ? word.replace(/\*$/, '') : word, start);
    return word;
  }

  /** Throws for the first wildcard or boost in a part of the text, which starts at `start`. */
  function refuseForeign(part: string, start: number): void {
    const index = part.search(FOREIGN);
    if (index === -1) return;
    const found = part[index];
    const reason = found === '^' ? 'boosts are not available' : 'a wildcard is allowed only after a container';
    fail(`${reason}; put quotes around a plain ${found}`, start + index);
  }

  function range(field: RangeField): Query {
    const start = at;
    const bounds = read(RANGE);
    if (!bounds) {
      const day = read(WORD)?.[0];
      const at = day?.includes('T') ? undefined : readInstant(day);
      if (at === undefined) return fail('expected a day (YYYY-MM-DD) or a range such as [2026-01-01 TO *]', start);
      return { kind: 'range', field, from: at.first, fromInclusive: true, to: at.last, toInclusive: true };
    }
    const [, opened, first = '', last = '', closed] = bounds;
    const [from, to] = [first, last].map((bound) => (bound === '*' ? null : readInstant(bound)));
    if (from === undefined || to === undefined) {
      return fail('expected a day (YYYY-MM-DD), a date-time or * on both sides of TO', start);
    }
    const [fromInclusive, toInclusive] = [opened === '[', closed === ']'];
    const limits = {
      from: fromInclusive ? from?.first : from?.last,
      to: toInclusive ? to?.last : to?.first,
    };
    if (limits.from !== undefined && limits.to !== undefined && limits.from > limits.to) {
      fail('the range is empty', start);
    }
    return { kind: 'range', field, ...limits, fromInclusive, toInclusive };
  }

  /** Returns the next part of the text and moves past it if it has this form, else null. */
  function read(form: RegExp): RegExpExecArray | null {
    form.lastIndex = at;
    const found = form.exec(text);
    if (found) at += found[0].length;
    return found;
  }

  /** Moves past the next part of the text, and the blanks before it, if it has this form. Returns whether it did. */
  function take(form: RegExp): boolean {
    skipBlanks();
    return read(form) !== null;
  }

  function sees(form: RegExp): boolean {
    form.lastIndex = at;
    return form.test(text);
  }

  function skipBlanks(): void {
    BLANKS.lastIndex = at;
    at += BLANKS.exec(text)?.[0].length ?? 0;
  }

  function fail(message: string, position = at): never {
    throw new QueryError(`position ${[...text.slice(0, position)].length + 1}: ${message}`);
  }
}

function joined(kind: 'and' | 'or', parts: readonly Query[]): Query {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) return only;
  return { kind, parts: parts.flatMap((part) => (part.kind === kind ? part.parts : [part])) };
}

function unescaped(text: string): string {
  return text.replace(/\\(["\\])/g, '$1');
}

/**
 * Returns the first and the last millisecond of an ISO 8601 day or date-time, in UTC unless it has an offset. Returns
 * undefined for other text and for an impossible date.
 */
function readInstant(text = ''): { readonly first: number; readonly last: number } | undefined {
  const [whole = '', time, offset] = TIME.exec(text) ?? [];
  const first = parseInstant(time === undefined || offset !== undefined ? whole : `${whole}Z`);
  if (Number.isNaN(first)) return undefined;
  return { first, last: time === undefined ? first + DAY_MS - 1 : first };
}
