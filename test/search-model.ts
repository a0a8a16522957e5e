import type { Query } from '../src/core/search/parse-query.ts';

/** A token with the properties that queries use. Times are in milliseconds. */
export interface SearchedToken {
  readonly id: string;
  readonly type: string;
  readonly fingerprint: string;
  readonly containers: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly searchValues: readonly string[];
  readonly created_by: string;
  readonly created_at: number;
  readonly modified_by?: string | undefined;
  readonly modified_at?: number | undefined;
  readonly expires_at?: number | undefined;
}

/** Returns whether a token matches a query, in the plainest code possible. */
export function matchesQuery(query: Query, token: SearchedToken): boolean {
  if (query.kind === 'and') return query.parts.every((part) => matchesQuery(part, token));
  if (query.kind === 'or') return query.parts.some((part) => matchesQuery(part, token));
  if (query.kind === 'not') return !matchesQuery(query.part, token);
  if (query.kind === 'range') {
    const at = token[query.field];
    if (at === undefined) return false;
    const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = query;
    return (query.fromInclusive ? at >= from : at > from) && (query.toInclusive ? at <= to : at < to);
  }
  const { field, key = '', value, below } = query;
  if (field === 'data') return token.searchValues.some((one) => isSameText(one, value));
  if (field === 'metadata') return isSameText(token.metadata[key], value);
  if (field !== 'container') return token[field] === value;
  const path = value.toLowerCase();
  return token.containers.some((own) => own === path || (below === true && own.startsWith(path)));
}

/** Returns whether a search takes two texts as the same. */
export function isSameText(a: string | undefined, b: string): boolean {
  return a !== undefined && folded(a) === folded(b);
}

const folded = (text: string) => text.normalize('NFD').toLowerCase().toUpperCase().toLowerCase().normalize('NFD');
