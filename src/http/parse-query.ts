import { invalid } from '../core/problem.ts';

type Pair = readonly [name: string, value: string];

const NONE: readonly Pair[] = [];

/**
 * The query of a request target as pairs in the order sent (`application/x-www-form-urlencoded`: `+` is a space). Unlike
 * `URLSearchParams` it throws, for percent-encoding that is not UTF-8: replacement characters would search for something else.
 */
export function parseQuery(url: string): readonly Pair[] {
  const start = url.indexOf('?');
  if (start === -1 || start === url.length - 1) return NONE;
  const pairs: Pair[] = [];
  for (const piece of url.slice(start + 1).split('&')) {
    if (piece === '') continue;
    const equals = piece.indexOf('=');
    const name = equals === -1 ? piece : piece.slice(0, equals);
    const value = equals === -1 ? '' : piece.slice(equals + 1);
    pairs.push([decode(name, name), decode(value, name)]);
  }
  return pairs;
}

function decode(text: string, name: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw invalid(name, 'is not validly percent-encoded');
  }
}
