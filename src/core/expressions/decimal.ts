import type { Json } from '../../contract/json.ts';
import { JsonNumber } from '../json/kind.ts';
import { parseJson } from '../json/parse.ts';
import { textOf } from '../json/stringify.ts';
import { FilterFailure, type WorkBudget } from './limits.ts';

/**
 * A number in arithmetic. `text` distinguishes integers (`7`) from other numbers (`7.0`); `value` is the nearest
 * double, which is infinite for an integer of more than 308 digits.
 */
export interface Decimal {
  readonly text: string;
  readonly value: number;
  readonly integer: boolean;
}

/** The maximum number of digits in a result of integer arithmetic. */
const MAX_DIGITS = 1000;
const TOO_LARGE = 10n ** BigInt(MAX_DIGITS);

/** The steps for each digit of an integer, whose conversion takes much longer than reading its text. */
const CONVERTING = 3;

const NUMERAL = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,9})?$/;

/**
 * Returns the JSON number that a text represents, keeping all digits: `007` is 7, `+1.10` is 1.10. Returns undefined
 * for other text.
 */
export function toJsonNumber(text: string): number | JsonNumber | undefined {
  if (!NUMERAL.test(text)) return undefined;
  const digits = text.replace(/^[+-]/, '').replace(/^0+(?=\d)/, '');
  const parsed = parseJson(text.startsWith('-') ? `-${digits}` : digits);
  return typeof parsed === 'number' || parsed instanceof JsonNumber ? parsed : undefined;
}

/**
 * Returns the number that a value represents. Returns undefined for a value that is neither a number nor the text of
 * one, and for a number with a fraction or an exponent that is too large for a double.
 */
export function toDecimal(value: Json): Decimal | undefined {
  const text = textOf(value);
  if (text === undefined || !NUMERAL.test(text)) return undefined;
  const integer = /^[+-]?\d+$/.test(text);
  const double = Number(text);
  return integer || Number.isFinite(double) ? { text, value: double, integer } : undefined;
}

/** Returns the exact value of an integer, and spends steps for each digit. */
export function toBigInt({ text }: Decimal, work: WorkBudget): bigint {
  work.spend(CONVERTING * text.length);
  return BigInt(text);
}

/** Returns an integer as JSON, with all of its digits. Throws `FilterFailure` for more than MAX_DIGITS of them. */
export function fromInteger(value: bigint): Json {
  // Compare before printing, because printing a long integer is slow.
  if (value >= TOO_LARGE || value <= -TOO_LARGE) {
    throw new FilterFailure(`returns a number of more than ${MAX_DIGITS} digits`);
  }
  return toJsonNumber(String(value)) ?? null;
}

/** Returns a number as JSON, unchanged: an integer keeps all of its digits. */
export function toJson({ text, value }: Decimal): Json {
  return toJsonNumber(text) ?? value;
}

/**
 * Returns the result of arithmetic as JSON. Converts negative zero to zero, because JSON prints both as `0` but a
 * comparison distinguishes them. Throws `FilterFailure` for infinity and NaN.
 */
export function fromDouble(value: number): number {
  if (!Number.isFinite(value)) throw new FilterFailure('returns a number that is too large');
  return value + 0;
}
