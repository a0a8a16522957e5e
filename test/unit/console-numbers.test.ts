import { expect, test } from 'vitest';
import { relativeTime, wholeNumber } from '../../src/console/page/parts/numbers.ts';

const INTL = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const UNITS = {
  year: 31_557_600_000,
  month: 2_629_800_000,
  day: 86_400_000,
  hour: 3_600_000,
  minute: 60_000,
  second: 1_000,
};

test.each([0, 1, 12, 999, 1_000, 20_000, 1_000_000, 1_234_567_890])('%i has the separators of Intl', (value) => {
  expect(wholeNumber(value)).toBe(value.toLocaleString('en'));
});

test.each(Object.entries(UNITS))('times in the unit %s read as those of Intl', (unit, size) => {
  for (const count of [-11, -2, -1, 1, 2, 11]) {
    expect(relativeTime(count * size)).toBe(INTL.format(count, unit as Intl.RelativeTimeFormatUnit));
  }
  expect(relativeTime(1500 * UNITS.year)).toBe('in 1,500 years');
});

test('less than a second is now', () => {
  expect([relativeTime(0), relativeTime(-999), relativeTime(999)]).toEqual(['now', 'now', 'now']);
});
