import type { Json, JsonObject } from '../../../contract/json.ts';
import { integerOf } from '../../json/number-digits.ts';
import { toJsonNumber } from '../decimal.ts';
import { defineFilter } from '../filter.ts';
import { FilterFailure } from '../limits.ts';

/** A card number as it is written: 13 to 19 digits, with blanks and dashes between them. */
const CARD_NUMBER = /^\d(?:[ -]*\d){12,18}$/;

/** The digits of the issuer: eight in numbers of 16 digits and more, else six (ISO/IEC 7812-1). */
const LONG_NUMBER = 16;

/** Returns the digits of a card number. Throws `FilterFailure` for another text. */
function cardDigits(text: string): string {
  if (CARD_NUMBER.test(text)) return text.replace(/\D/g, '');
  throw new FilterFailure('needs a card number of 13 to 19 digits, with only blanks and dashes between them');
}

/** Returns a card number with other digits of the same count. Its blanks and dashes stay in place. */
export function withDigits(text: string, change: (digits: string) => string): string {
  const changed = change(cardDigits(text));
  let at = 0;
  return text.replace(/\d/g, () => changed.charAt(at++));
}

/** Returns the last two digits of a whole number in a range, or of its text; undefined for another value. */
function twoDigits(value: Json, least: number, most: number): string | undefined {
  const number = integerOf((typeof value === 'string' ? toJsonNumber(value) : value) ?? null);
  return number !== undefined && number >= least && number <= most ? String(number % 100).padStart(2, '0') : undefined;
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
      const digits = cardDigits(text);
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
