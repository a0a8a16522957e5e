import type { Instant } from './ports.ts';
import { MachineDate } from './timers.ts';

/** The time of a vault. */
export interface Clock {
  /**
   * Returns the time. It dates records and checks new ends. It goes back only as `systemClock` describes, or when a
   * test moves the clock back, which first removes expired records.
   */
  now(): Instant;
  /**
   * Returns the time up to which expired records are hidden: `now()`, or the machine's clock if that has jumped ahead.
   * Pass it to the reads of a store.
   */
  cutoff(): Instant;
  /** Returns the latest time that is certain; 0 before the first one. Records that expired by then may be removed. */
  settled(): Instant;
}

/** The last year that ISO 8601 writes with four digits. */
const LAST_YEAR = 9999;

/**
 * Returns an instant in the ISO 8601 form of every response: milliseconds, and UTC written as `+00:00` (decisions §1).
 * Avoids `toISOString`, which makes V8 look up the machine's time zone and is slower on later calls, too.
 */
export function formatInstant(instant: number): string {
  if (instant !== last.instant) last = { instant, text: format(instant) };
  return last.text;
}

/** The tokens of a batch were created at the same time, so cache the text. */
let last = { instant: Number.NaN, text: '' };

function format(instant: number): string {
  const day = Math.floor(instant / DAY_MS);
  if (day !== lastDay.day) {
    const date = new MachineDate(instant);
    const year = date.getUTCFullYear();
    if (!(year >= 0 && year <= LAST_YEAR)) return date.toISOString().replace('Z', '+00:00');
    const years = String(year).padStart(4, '0');
    lastDay = { day, text: `${years}-${twoDigits(date.getUTCMonth() + 1)}-${twoDigits(date.getUTCDate())}T` };
  }
  const ms = instant - day * DAY_MS;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const time = `${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}:${twoDigits(seconds % 60)}`;
  return `${lastDay.text}${time}.${twoDigits(Math.floor((ms % 1000) / 10))}${ms % 10}+00:00`;
}

export const DAY_MS = 86_400_000;

/** Returns a day, in days since 1970-01-01, in ISO 8601, such as `2026-03-01`. */
export function formatDay(day: number): string {
  return formatInstant(day * DAY_MS).replace(/T.*/, '');
}

/** Most tokens of a page were created on a few days, so cache the date. */
let lastDay = { day: Number.NaN, text: '' };

const twoDigits = (value: number) => (value < 10 ? `0${value}` : String(value));

/**
 * Returns the instant of an ISO 8601 date or date-time; NaN for other texts. Checks the day, because `Date.parse` reads
 * 30 February as 2 March.
 */
export function parseInstant(text: string): number {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(text) ?? [];
  const date = new MachineDate(MachineDate.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCDate() === Number(day) ? MachineDate.parse(text) : Number.NaN;
}

/** Returns whether a record has ended at an instant. */
export function isExpired({ expires_at }: { readonly expires_at?: Instant | undefined }, now: Instant): boolean {
  return expires_at !== undefined && expires_at <= now;
}

/**
 * How far ahead the end of an expiring application may be, in milliseconds: a day (§4.2), and a minute for processes
 * whose clocks differ.
 */
const MAX_AHEAD_MS = DAY_MS + 60_000;

/** Returns the latest end of a valid expiring application at `now`. A later end was set under a wrong clock. */
export const latestEnd = (now: Instant): Instant => now + MAX_AHEAD_MS;
