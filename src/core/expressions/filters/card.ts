import type { Json, JsonObject } from '../../../contract/json.ts';
import { toDecimal } from '../decimal.ts';
import { FilterFailure } from '../expression-error.ts';
import { defineFilter } from '../filter.ts';

const DELIMITERS = /[ -]/g;
const CARD_NUMBER = /^\d{13,19}$/;

/** The digits of the issuer: eight in numbers of 16 digits and more, else six (ISO/IEC 7812-1). */
const LONG_NUMBER = 16;

/** Returns the digits of a card number. Throws `FilterFailure` for another text. */
function digitsOf(text: string): string {
  const digits = text.replace(DELIMITERS, '');
  if (CARD_NUMBER.test(digits)) return digits;
  throw new FilterFailure('needs a card number of 13 to 19 digits');
}

/** Returns a card number with other digits of the same count. Its blanks and dashes stay in place. */
export function withDigits(text: string, change: (digits: string) => string): string {
  const changed = change(digitsOf(text));
  let at = 0;
  return text.replace(/\d/g, () => changed.charAt(at++));
}

/** Returns the last two digits of a whole number in a range, or of its text; undefined for another value. */
function twoDigits(value: Json, least: number, most: number): string | undefined {
  const number = toDecimal(value)?.value ?? Number.NaN;
  const isRight = Number.isInteger(number) && number >= least && number <= most;
  return isRight ? String(number % 100).padStart(2, '0') : undefined;
}

/** Returns the expiry of a card, or null without one. */
function expiryOf({ expiration_month: month, expiration_year: year }: JsonObject): string | null {
  if (month == null || year == null) return null;
  const [mm, yy] = [twoDigits(month, 1, 12), twoDigits(year, 0, 9999)];
  if (mm !== undefined && yy !== undefined) return `${mm}/${yy}`;
  throw new FilterFailure('needs a card with an expiration_month from 1 to 12 and a year as its expiration_year');
}

/** The filters for card numbers and cards. */
export const CARD_FILTERS = {
  card_bin: defineFilter({
    input: 'text',
    apply: (text) => {
      const digits = digitsOf(text);
      return digits.slice(0, digits.length < LONG_NUMBER ? 6 : 8);
    },
  }),
  /** Masks all digits but the last four. Blanks and dashes stay. */
  card_mask: defineFilter({
    input: 'text',
    apply: (text) => withDigits(text, (digits) => 'X'.repeat(digits.length - 4) + digits.slice(-4)),
  }),
  /** Returns the expiry of a card as `MM/YY`. */
  card_exp: defineFilter({ input: 'object', apply: expiryOf }),
};
