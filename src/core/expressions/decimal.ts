import type { Json } from '../../contract/json.ts';
import { JsonNumber } from '../json/kind.ts';
import { parseJson } from '../json/parse.ts';
import { FilterFailure } from './expression-error.ts';
import { textOf } from './print-value.ts';

/** A number in arithmetic: its text, which tells integers (`7`) from others (`7.0`), and a double. */
export interface Decimal {
  readonly text: string;
  readonly value: number;
  readonly integer: boolean;
}

const NUMERAL = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,9})?$/;

/** The JSON number that a text means, digit by digit: `007` is 7, `+1.10` is 1.10; undefined when it means none. */
export function toJsonNumber(text: string): number | JsonNumber | undefined {
  if (!NUMERAL.test(text)) return undefined;
  const digits = text.replace(/^[+-]/, '').replace(/^0+(?=\d)/, '');
  const parsed = parseJson(text.startsWith('-') ? `-${digits}` : digits);
  return typeof parsed === 'number' || parsed instanceof JsonNumber ? parsed : undefined;
}

/** Undefined when the value is no number, no text that means one, or is too large for a double. */
export function toDecimal(value: Json): Decimal | undefined {
  const text = textOf(value);
  if (text === undefined || !NUMERAL.test(text)) return undefined;
  const double = Number(text);
  return Number.isFinite(double) ? { text, value: double, integer: /^[+-]?\d+$/.test(text) } : undefined;
}

/** Never negative zero, which JSON would print as `0` and compare as something else. */
export function fromDouble(value: number): number {
  if (!Number.isFinite(value)) throw new FilterFailure('gives a number that is too large');
  return value + 0;
}
