import type { Instant } from '../ports.ts';
import { invalid } from '../problem.ts';
import { MachineDate } from '../timers.ts';

/** The time at which a token, an application or an API key expires. */
export interface Expiry {
  readonly instant: Instant;
  /** ISO 8601 with milliseconds, in the offset that was sent. Responses use this form. */
  readonly text: string;
}

const DATE = '(?<year>\\d{4})-(?<month>\\d{2})-(?<day>\\d{2})';
const TIME = 'T(?<hour>\\d{2}):(?<minute>\\d{2})(?::(?<second>\\d{2})(?:\\.(?<fraction>\\d{1,9}))?)?';
const OFFSET = '(?<offset>Z|[+-]\\d{2}(?::?\\d{2})?)';
const US_DATE = '(?<month>\\d{1,2})/(?<day>\\d{1,2})/(?<year>\\d{4})';
/** Programs on a recent ICU (Node.js, .NET) write U+202F before AM and PM; others write U+00A0. */
const BLANK = '[ \\u00a0\\u202f]';
const US_TIME = `(?<hour>\\d{1,2}):(?<minute>\\d{2})(?::(?<second>\\d{2}))?${BLANK}(?<half>[AaPp])[Mm]`;
const US_OFFSET = '(?<offset>Z|[+-]\\d{2}:?\\d{2})';

const ISO_DATE_TIME = new RegExp(`^${DATE}${TIME}${OFFSET}?$`);

const ISO_DATE = new RegExp(`^${DATE}$`);

/** All accepted formats of a token's `expires_at` (§2.6, decisions §8). A time without an offset is UTC. */
const TOKEN_FORMATS = [
  ISO_DATE_TIME,
  ISO_DATE,
  new RegExp(`^${US_DATE},?${BLANK}${US_TIME}(?:${BLANK}?${US_OFFSET})?$`),
  new RegExp(`^${US_DATE}$`),
];

/** Matches a date whose first number can only be a day. */
const DAY_FIRST = /^(?:1[3-9]|[2-9]\d)\/\d{1,2}\/\d{4}(?!\d)/;

/** The widest UTC offset in use, +14:00, in minutes. */
const MAX_OFFSET_MINUTES = 14 * 60;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** The named groups of a matched format. */
type Fields = Readonly<
  Partial<Record<'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'fraction' | 'half' | 'offset', string>>
>;

/**
 * Parses the `expires_at` of a token. Throws `invalid_request` for another format, an impossible date or time, or a
 * time in the past.
 */
export function parseExpiresAt(text: string, now: Instant): Expiry {
  if (DAY_FIRST.test(text)) throw invalid('expires_at', 'must be written month/day/year; the month is above 12');
  const message = 'must be an ISO 8601 date or date-time, M/D/YYYY, or M/D/YYYY h:mm[:ss] AM|PM [±hh:mm]';
  return readFuture(text, now, TOKEN_FORMATS, message);
}

/**
 * Parses the `expires_at` of an expiring application, an ISO 8601 date-time (§4.2). Throws `invalid_request` for
 * another format, a time in the past, or a time more than one day ahead.
 */
export function parseApplicationExpiry(text: string, now: Instant): Instant {
  const { instant } = readFuture(text, now, [ISO_DATE_TIME], 'must be an ISO 8601 date-time');
  if (instant - now > DAY) throw invalid('expires_at', 'must be at most one day ahead');
  return instant;
}

/**
 * Parses the `expires_at` of an API key, an ISO 8601 date or date-time. Throws `invalid_request` for another format or a
 * time in the past.
 */
export function parseKeyExpiry(text: string, now: Instant): Instant {
  return readFuture(text, now, [ISO_DATE_TIME, ISO_DATE], 'must be an ISO 8601 date or date-time').instant;
}

function readFuture(text: string, now: Instant, formats: readonly RegExp[], message: string): Expiry {
  const fields = formats.find((format) => format.test(text))?.exec(text)?.groups;
  if (fields === undefined) throw invalid('expires_at', message);
  const expiry = expiryOf(fields);
  if (expiry.instant <= now) throw invalid('expires_at', 'must be in the future');
  return expiry;
}

function expiryOf(fields: Fields): Expiry {
  const offset = offsetMinutes(fields.offset);
  const local = MachineDate.UTC(
    number(fields.year),
    number(fields.month) - 1,
    number(fields.day),
    hourOfDay(fields),
    number(fields.minute),
    number(fields.second),
    // Cut digits after the millisecond instead of rounding, so that a token does not outlive the requested time.
    number((fields.fraction ?? '').padEnd(3, '0').slice(0, 3)),
  );
  const shown = new MachineDate(local).toISOString().slice(0, -1);
  // `Date.UTC` carries values out of range (February 30, second 60) into the next unit, so `shown` then differs from
  // the sent text.
  if (!shown.startsWith(writtenMinute(fields))) {
    throw invalid('expires_at', 'names a date or time that does not exist');
  }
  return { instant: local - offset * MINUTE, text: shown + offsetText(offset) };
}

function number(digits: string | undefined): number {
  return Number(digits ?? 0);
}

/** Returns the hour from 0 to 23. 12 AM is midnight and 12 PM is noon; 0 AM and 13 PM do not exist. */
function hourOfDay(fields: Fields): number {
  const hour = number(fields.hour);
  const half = fields.half?.toUpperCase();
  if (half === undefined) return hour;
  if (hour < 1 || hour > 12) throw invalid('expires_at', 'must have an hour from 1 to 12 before AM or PM');
  return (hour % 12) + (half === 'P' ? 12 : 0);
}

function writtenMinute(fields: Fields): string {
  const [month, day, hour, minute] = [fields.month, fields.day, hourOfDay(fields), fields.minute].map((field) =>
    String(field ?? '').padStart(2, '0'),
  );
  return `${fields.year}-${month}-${day}T${hour}:${minute}`;
}

function offsetMinutes(offset = 'Z'): number {
  if (offset === 'Z') return 0;
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0');
  const minutes = number(digits.slice(2));
  const size = number(digits.slice(0, 2)) * 60 + minutes;
  if (minutes > 59 || size > MAX_OFFSET_MINUTES) {
    throw invalid('expires_at', 'must have an offset from -14:00 to +14:00');
  }
  return offset.startsWith('-') ? -size : size;
}

function offsetText(offset: number): string {
  const size = Math.abs(offset);
  const [hours, minutes] = [Math.trunc(size / 60), size % 60].map((part) => String(part).padStart(2, '0'));
  return `${offset < 0 ? '-' : '+'}${hours}:${minutes}`;
}
