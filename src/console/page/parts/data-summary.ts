import type { Json } from '../../../contract/json.ts';

const MAX_LENGTH = 200;

/** The masked part of a value, such as `XXXXXXXXXXXX` or `XXX-XX-`, before the part that is shown. */
const MASKED = /^X[X -]{2,}(?=.)/;

/** Returns masked data in one line: a card as `•••• 9611 · 06/2030`, other objects as compact JSON. */
export function dataSummary(data: Json | undefined): string {
  const text = data === undefined ? '' : summaryOf(data);
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}

function summaryOf(data: Json): string {
  if (typeof data !== 'object' || data === null) return dotted(data);
  if (Array.isArray(data)) return JSON.stringify(data);
  const { number, expiration_month: month, expiration_year: year, cvc: _, ...more } = data as Members;
  if (number !== undefined && Object.keys(more).length === 0) return joined(dotted(number), ' · ', expiry(month, year));
  const { routing_number: routing, account_number: account, ...others } = data as Members;
  if (account !== undefined && Object.keys(others).length === 0) return joined(dotted(account), ' · ', routing);
  return JSON.stringify(data);
}

type Members = Readonly<Record<string, Json | undefined>>;

const dotted = (value: Json): string =>
  typeof value === 'object' ? JSON.stringify(value) : `${value}`.replace(MASKED, '•••• ');

const expiry = (month: Json | undefined, year: Json | undefined): string =>
  joined(month === undefined ? '' : String(month).padStart(2, '0'), '/', year);

/** Returns both parts with `between`, or the only part. */
const joined = (first: Json, between: string, second: Json | undefined = ''): string =>
  [first, second].filter((part) => part !== '').join(between);
