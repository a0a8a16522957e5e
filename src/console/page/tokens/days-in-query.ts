import { parseQuery, type Query, QueryError, type RangeField } from '../../../core/search/parse-query.ts';
import { forgetMatch } from '../parts/forget-match.ts';
import { exactTime } from '../parts/numbers.ts';

/** The first and the last day of a range, such as `2026-11-28`, in the time zone of the browser. Empty if open. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

export const NO_DAYS: Days = { from: '', to: '' };

/** Returns the days of the range that all matches of the query are in; undefined if the query has no such range. */
export function daysIn(query: string, field: RangeField): Days | undefined {
  const whole = parsed(query);
  const parts = typeof whole === 'string' ? [] : whole.kind === 'and' ? whole.parts : [whole];
  const range = parts.find((part) => part.kind === 'range' && part.field === field);
  if (range?.kind !== 'range') return undefined;
  const { from, fromInclusive, to, toInclusive } = range;
  return {
    from: from === undefined ? '' : dayOf(fromInclusive ? from : from + 1),
    to: to === undefined ? '' : dayOf(toInclusive ? to : to - 1),
  };
}

/** Returns the query with these days instead of its own. */
export function withDays(query: string, field: RangeField, days: Days): string {
  const changed = withRange(query, field, days.from + days.to === '' ? '' : `${field}:${rangeText(days)}`);
  forgetMatch();
  return changed;
}

function withRange(query: string, field: RangeField, range: string): string {
  const terms = [...query.matchAll(new RegExp(`(^|\\s+)(AND\\s+)?${field}:(?:[[{][^\\]}]*[\\]}]|\\S+)`, 'g'))];
  const [term] = terms;
  const isQuoted = query.slice(0, term?.index).split('"').length % 2 === 0;
  if (term !== undefined && terms.length === 1 && !isQuoted && daysIn(query, field) !== undefined) {
    const [text, space = '', and = ''] = term;
    const rest = query.slice(term.index + text.length);
    const start = query.slice(0, term.index);
    return range === '' ? (start + rest).replace(/^\s*(AND\s+)?/, '') : start + space + and + range + rest;
  }
  const whole = parsed(query);
  const others = typeof whole !== 'string' && whole.kind === 'or' && range !== '' ? `(${query})` : query;
  return [others, range].filter(Boolean).join(' AND ');
}

/** Returns days as a range of the query language, with the offset of the time zone. */
export const rangeText = ({ from, to }: Days): string =>
  `[${from === '' ? '*' : startOf(from)} TO ${to === '' ? '*]' : `${startOf(to, 1)}}`}`;

/** Returns a day in the time zone of the browser. */
export const dayOf = (ms: number): string => exactTime(new Date(ms).toISOString()).slice(0, 10);

/** Returns the start of the day, or of one that follows, in ISO 8601: `2026-11-28T00:00+01:00`. */
function startOf(day: string, after = 0): string {
  const at = new Date(`${day}T00:00`);
  at.setDate(at.getDate() + after);
  const [date, time = '', zone = ''] = exactTime(at.toISOString()).split(' ');
  return `${date}T${time.slice(0, 5)}${zone.replace('UTC', 'Z')}`;
}

/** Parses a query. Returns an error message for an invalid one. */
export function parsed(text: string): Query | string {
  try {
    return parseQuery(text);
  } catch (error) {
    if (error instanceof QueryError) return error.message;
    throw error;
  } finally {
    forgetMatch();
  }
}
