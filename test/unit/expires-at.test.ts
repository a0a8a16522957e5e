import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { Problem } from '../../src/core/problem.ts';
import { formatInstant } from '../../src/core/time.ts';
import { parseApplicationExpiry, parseExpiresAt } from '../../src/core/tokens/expires-at.ts';
import { readTable } from '../vectors/read-vectors.ts';

/** Quotes mark texts with spaces around them. */
const CASES = readTable('expires-at').map(
  ({ part, origin: because, fields: [text = '', instant = '', shown = ''] }) => {
    return { part, because, text: text.startsWith('"') ? String(JSON.parse(text)) : text, instant, shown };
  },
);
const ACCEPTED = CASES.filter(({ part }) => part === 'accepted');
const NOW = Date.parse('2026-03-01T09:30:00.000Z');

const MESSAGES: Readonly<Record<string, RegExp>> = {
  format: /^must be an ISO 8601 date/,
  order: /^must be written month\/day\/year; the month is above 12$/,
  impossible: /^names a date or time that does not exist$/,
  hour: /^must have an hour from 1 to 12 before AM or PM$/,
  offset: /^must have an offset from -14:00 to \+14:00$/,
  past: /^must be in the future$/,
  far: /^must be at most one day ahead$/,
};

function refusal(parse: () => unknown): string | undefined {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    expect(error.code).toBe('invalid_request');
    const { expires_at: messages } = error.errors ?? {};
    return messages?.[0];
  }
  throw new Error('was accepted');
}

describe('parseExpiresAt', () => {
  test.each(ACCEPTED)('accepts $text', ({ text, instant, shown }) => {
    expect(parseExpiresAt(text, NOW)).toEqual({ instant: Date.parse(instant), text: shown });
    expect(Date.parse(shown)).toBe(Date.parse(instant));
  });

  test.each(CASES.filter(({ part }) => part === 'refused'))('refuses $text ($because)', ({ text, because }) => {
    expect(refusal(() => parseExpiresAt(text, NOW))).toMatch(MESSAGES[because] ?? because);
  });

  test('parses the text that it shows to the same text', () => {
    for (const { shown } of ACCEPTED) expect(parseExpiresAt(shown, NOW).text).toBe(shown);
  });

  test('agrees with luxon on possible and impossible dates in both notations', () => {
    const two = (value: number) => String(value).padStart(2, '0');
    const field = (max: number) =>
      fc.oneof({ weight: 9, arbitrary: fc.nat(max) }, { arbitrary: fc.nat(99), weight: 1 });
    fc.assert(
      fc.property(
        fc.record({
          year: fc.integer({ min: 1000, max: 9999 }),
          month: field(13),
          day: field(32),
          hour: field(24),
          minute: field(60),
          second: field(60),
          offset: fc.integer({ min: -14 * 60, max: 14 * 60 }),
        }),
        ({ year, month, day, hour, minute, second, offset }) => {
          const size = Math.abs(offset);
          const zone = `${offset < 0 ? '-' : '+'}${two(Math.trunc(size / 60))}:${two(size % 60)}`;
          const iso = `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}${zone}`;
          const half = hour < 12 ? 'AM' : 'PM';
          const us = `${month}/${day}/${year} ${hour % 12 || 12}:${two(minute)}:${two(second)} ${half} ${zone}`;
          const expected = DateTime.fromObject({ year, month, day, hour, minute, second }, { zone: `UTC${zone}` });
          for (const text of hour < 24 ? [iso, us] : [iso]) {
            if (text === us && month > 12) {
              expect(refusal(() => parseExpiresAt(text, -Infinity))).toMatch(/month\/day\/year/);
            } else if (!expected.isValid || hour > 23) {
              expect(refusal(() => parseExpiresAt(text, -Infinity))).toMatch(/does not exist/);
            } else {
              expect(parseExpiresAt(text, -Infinity)).toEqual({
                instant: expected.toMillis(),
                text: expected.toFormat("yyyy-MM-dd'T'HH:mm:ss.SSSZZ"),
              });
            }
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});

test('parses what toLocaleString of en-US prints, with the ICU of each version of Node.js', () => {
  const dates = fc.date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(dates, (date) => {
      const [whole, minutes] = [Math.floor(date.getTime() / 1000) * 1000, Math.floor(date.getTime() / 60_000) * 60_000];
      const printed = date.toLocaleString('en-US', { timeZone: 'UTC' });
      expect(parseExpiresAt(printed, -Infinity).instant, printed).toBe(whole);
      const day = date.toLocaleDateString('en-US', { timeZone: 'UTC' });
      for (const timeStyle of ['short', 'medium'] as const) {
        const time = date.toLocaleTimeString('en-US', { timeZone: 'UTC', timeStyle });
        const wanted = timeStyle === 'short' ? minutes : whole;
        expect(parseExpiresAt(`${day} ${time} +00:00`, -Infinity).instant, time).toBe(wanted);
      }
    }),
  );
});

describe('parseApplicationExpiry', () => {
  test.each(CASES.filter(({ part }) => part === 'accepted of an application'))('accepts $text', ({ text, instant }) => {
    expect(parseApplicationExpiry(text, NOW)).toBe(Date.parse(instant));
  });

  test.each(CASES.filter(({ part }) => part === 'refused of an application'))(
    'refuses $text ($because)',
    ({ text, because }) => {
      expect(refusal(() => parseApplicationExpiry(text, NOW))).toMatch(MESSAGES[because] ?? because);
    },
  );
});

test('formatInstant writes milliseconds and +00:00', () => {
  expect(formatInstant(NOW)).toBe('2026-03-01T09:30:00.000+00:00');
  expect(formatInstant(NOW + 7)).toBe('2026-03-01T09:30:00.007+00:00');
});
