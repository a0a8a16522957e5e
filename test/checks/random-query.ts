import type { Query, RangeField } from '../../src/core/search/parse-query.ts';
import type { Draw } from './model-fuzz-bodies.ts';

const MAX_LENGTH = 1_000;
const DAY_MS = 86_400_000;

/** Values that queries refer to, in addition to the constants below. */
interface Named {
  readonly now: number;
  id(): string;
  fingerprint(): string;
  application(): string;
}

/** A query as text, and its meaning, which no code of the vault derives. */
interface RandomQuery {
  readonly text: string;
  readonly query: Query;
}

/** The text of a bound of a range, and its first and last millisecond; undefined for an open end. */
type Bound = readonly [text: string, first?: number, last?: number];

/** Search and metadata values, including case folds to several letters and two normal forms of one text. */
export const TEXTS = [
  ...['x', 'X', 'ÄÖ', 'äö', 'a\u0308O\u0308', 'Straße', 'STRASSE', 'STRAẞE', 'Straſse'],
  ...['4242', '6789', '123-45-6789', 'a "b" \\', 'AND', '(x)', 'nothing'],
] as const;
export const METADATA_KEYS = ['k', 'a.b', 'K', 'ä k'] as const;

const TYPES = ['token', 'card', 'bank', 'card_number', 'social_security_number', 'employer_id_number'];
const CONTAINERS = ['/', '*', '/*', '/pci/*', '/pci/high/', '/PCI/High/*', '/general/high/', '/x/*'];
const TIMES: readonly RangeField[] = ['created_at', 'modified_at', 'expires_at'];

export function randomQuery(draw: Draw, named: Named): RandomQuery {
  const day = (offset: number): Bound => {
    const text = new Date(named.now + offset * DAY_MS).toISOString().slice(0, 10);
    const first = Date.parse(`${text}T00:00:00Z`);
    return [text, first, first + DAY_MS - 1];
  };
  const instant = (): Bound => {
    const at = named.now + (draw.below(9) - 4) * (DAY_MS / 2);
    return [new Date(at).toISOString(), at, at];
  };
  const bound = (offset: number): Bound =>
    draw.weighted([
      [['*'], 1],
      [day(offset), 2],
      [instant(), 2],
    ]);

  const matches = (field: 'type' | 'id' | 'fingerprint' | 'created_by' | 'modified_by' | 'data', value: string) => ({
    text: `${field}:${field === 'id' || field === 'data' ? quoted(value) : value}`,
    query: { kind: 'match', field, value } as const,
  });
  const metadata = (key: string, value: string): RandomQuery => ({
    text: `metadata.${quoted(key)}:${quoted(value)}`,
    query: { kind: 'match', field: 'metadata', key, value },
  });
  const container = (path: string): RandomQuery => {
    const below = path.endsWith('*') && { below: true as const };
    const value = path.replace('*', '') || '/';
    return { text: `container:${path}`, query: { kind: 'match', field: 'container', value, ...below } };
  };
  // A range without any time is invalid, so one of its ends is open.
  const range = (field: RangeField): RandomQuery => {
    const [opened, closed] = [draw.one(['[', '{']), draw.one([']', '}'])];
    const bounds: readonly [Bound, Bound] = draw.chance(0.5) ? [bound(-3), ['*']] : [['*'], bound(3)];
    const [[fromText, fromFirst, fromLast], [toText, toFirst, toLast]] = bounds;
    const [fromInclusive, toInclusive] = [opened === '[', closed === ']'];
    return {
      text: `${field}:${opened}${fromText} TO ${toText}${closed}`,
      query: {
        kind: 'range',
        field,
        from: fromInclusive ? fromFirst : fromLast,
        fromInclusive,
        to: toInclusive ? toLast : toFirst,
        toInclusive,
      },
    };
  };
  const during = (field: RangeField, [text, from, to]: Bound): RandomQuery => ({
    text: `${field}:${text}`,
    query: { kind: 'range', field, from, fromInclusive: true, to, toInclusive: true },
  });
  const clauses: readonly (() => RandomQuery)[] = [
    () => matches('type', draw.one(TYPES)),
    () => metadata(draw.one(METADATA_KEYS), draw.one(['', ...TEXTS])),
    () => matches('id', named.id()),
    () => container(draw.one(CONTAINERS)),
    () => matches('fingerprint', named.fingerprint()),
    () => matches(draw.one(['created_by', 'modified_by']), named.application()),
    () => matches('data', draw.one(TEXTS)),
    () => range(draw.one(TIMES)),
    () => during(draw.one(TIMES), day(draw.below(4) - 2)),
  ];

  const term = (depth: number): RandomQuery => {
    const not = draw.chance(0.2) ? draw.one(['NOT ', '-', '!']) : '';
    const { text, query } = depth === 0 || draw.chance(0.7) ? draw.one(clauses)() : inParentheses(terms(depth - 1));
    return { text: not + text, query: not === '' ? query : negated(query) };
  };
  /** Returns terms that are joined by operators. AND binds closer than OR. */
  const terms = (depth: number): RandomQuery => {
    const first = term(depth);
    let { text } = first;
    const groups = [[first.query]];
    while (draw.chance(0.4)) {
      const operator = draw.one(['AND', 'OR', '']);
      const next = term(depth);
      text += ` ${operator} ${next.text}`;
      if (operator === 'OR') groups.push([next.query]);
      else groups.at(-1)?.push(next.query);
    }
    const alternatives = groups.map((parts) => joined('and', parts));
    return { text, query: joined('or', alternatives) };
  };
  const made = terms(2);
  return made.text.length > MAX_LENGTH ? randomQuery(draw, named) : made;
}

const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`;
const inParentheses = ({ text, query }: RandomQuery): RandomQuery => ({ text: `(${text})`, query });
const negated = (part: Query): Query => (part.kind === 'not' ? part.part : { kind: 'not', part });

/** Joins queries. Queries of the same kind become parts of one query. */
function joined(kind: 'and' | 'or', parts: readonly Query[]): Query {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return { kind, parts: parts.flatMap((part) => (part.kind === kind ? part.parts : [part])) };
}
