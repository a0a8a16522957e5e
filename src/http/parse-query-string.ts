type Pair = readonly [name: string, value: string];

/** The parameters of a query. `fault` is the name, as sent, of the first parameter with broken percent-encoding. */
export interface ParsedQuery {
  readonly pairs: readonly Pair[];
  readonly fault?: string | undefined;
}

const NONE: ParsedQuery = { pairs: [] };

/**
 * Parses the query of a request target into pairs in the order sent (`application/x-www-form-urlencoded`: `+` is a
 * space). Unlike `URLSearchParams`, reports percent-encoding that is not UTF-8: with replacement characters, the query
 * would search for another text.
 */
export function parseQueryString(url: string): ParsedQuery {
  const start = url.indexOf('?');
  if (start === -1 || start === url.length - 1) return NONE;
  const pairs: Pair[] = [];
  let fault: string | undefined;
  for (const piece of url.slice(start + 1).split('&')) {
    if (piece === '') continue;
    const equals = piece.indexOf('=');
    const name = equals === -1 ? piece : piece.slice(0, equals);
    const value = equals === -1 ? '' : piece.slice(equals + 1);
    const decoded = [decode(name), decode(value)] as const;
    if (decoded[0] === undefined || decoded[1] === undefined) fault ??= name;
    else pairs.push([decoded[0], decoded[1]]);
  }
  return { pairs, fault };
}

function decode(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}
