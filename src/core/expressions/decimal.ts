import type { Json } from '../../contract/json.ts';
import { JsonNumber } from '../json/kind.ts';
import { parseJson } from '../json/parse.ts';
import { FilterFailure } from './expression-error.ts';
import { textOf } from './print-value.ts';

/**
 * A number in arithmetic. `text` distinguishes integers (`7`) from other numbers (`7.0`); `value` is the nearest
 * double.
 */
export interface Decimal {
  readonly text: string;
  readonly value: number;
  readonly integer: boolean;
}

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
 * one, or that is too large for a double.
 */
export function toDecimal(value: Json): Decimal | undefined {
  const text = textOf(value);
  if (text === undefined || !NUMERAL.test(text)) return undefined;
  const double = Number(text);
  return Number.isFinite(double) ? { text, value: double, integer: /^[+-]?\d+$/.test(text) } : undefined;
}

/**
 * Returns the result of arithmetic as JSON. Converts negative zero to zero, because JSON prints both as `0` but a
 * comparison distinguishes them. Throws `FilterFailure` for infinity and NaN.
 */
export function fromDouble(value: number): number {
  if (!Number.isFinite(value)) throw new FilterFailure('returns a number that is too large');
  return value + 0;
}
