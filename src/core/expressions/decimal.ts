import type { Json } from '../../contract/json.ts';
import { JsonNumber } from '../json/kind.ts';
import { parseJson } from '../json/parse.ts';
import { FilterFailure } from './expression-error.ts';
import { textOf } from './print-value.ts';

/**
 * A number in arithmetic. `text` distinguishes integers (`7`) from other numbers (`7.0`); `value` is the nearest
 * double, which is infinite for an integer of more than 308 digits.
 */
export interface Decimal {
  readonly text: string;
  readonly value: number;
  readonly integer: boolean;
}

/** The maximum number of digits of an integer in arithmetic, and of its result. */
const MAX_DIGITS = 1000;

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
 * one, for an integer of more than MAX_DIGITS digits, and for another number that is too large for a double.
 */
export function toDecimal(value: Json): Decimal | undefined {
  const text = textOf(value);
  if (text === undefined || !NUMERAL.test(text)) return undefined;
  const integer = /^[+-]?\d+$/.test(text);
  const double = Number(text);
  if (integer ? text.length > MAX_DIGITS + 1 : !Number.isFinite(double)) return undefined;
  return { text, value: double, integer };
}

/** Returns an integer as JSON, with all of its digits. Throws `FilterFailure` for more than MAX_DIGITS of them. */
export function fromInteger(value: bigint): Json {
  const text = String(value);
  if (text.length > MAX_DIGITS + (value < 0n ? 1 : 0)) {
    throw new FilterFailure(`returns a number of more than ${MAX_DIGITS} digits`);
  }
  return toJsonNumber(text) ?? null;
}

/** Returns a number as JSON, unchanged: an integer keeps all of its digits. */
export function toJson({ text, value }: Decimal): Json {
  return toJsonNumber(text) ?? value;
}

/** Compares two numbers, as the function of a sort. Integers compare exactly at any size. */
export function compareNumbers(left: Decimal, right: Decimal): number {
  if (!left.integer || !right.integer) return left.value - right.value;
  const difference = BigInt(left.text) - BigInt(right.text);
  return difference < 0n ? -1 : Number(difference > 0n);
}

/**
 * Returns the result of arithmetic as JSON. Converts negative zero to zero, because JSON prints both as `0` but a
 * comparison distinguishes them. Throws `FilterFailure` for infinity and NaN.
 */
export function fromDouble(value: number): number {
  if (!Number.isFinite(value)) throw new FilterFailure('returns a number that is too large');
  return value + 0;
}
