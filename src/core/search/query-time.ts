const DAY_MS = 24 * 60 * 60 * 1000;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):\d{2}(?::\d{2}(?:\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?$/;

/**
 * Parses an ISO 8601 day or date-time, in UTC unless it has an offset. Returns its first and last millisecond, or
 * undefined for other text and for an impossible date.
 */
export function readInstant(text = ''): { readonly first: number; readonly last: number } | undefined {
  if (DAY.test(text)) {
    const first = Date.parse(`${text}T00:00:00Z`);
    return exists(text) ? { first, last: first + DAY_MS - 1 } : undefined;
  }
  const [, day = '', offset] = DATE_TIME.exec(text) ?? [];
  const instant = Date.parse(offset === undefined ? `${text}Z` : text);
  return exists(day) && !Number.isNaN(instant) ? { first: instant, last: instant } : undefined;
}

/** Returns whether a day exists. `Date` turns February 30 into a day in March. */
function exists(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
