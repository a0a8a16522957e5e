import type { Json } from '../../contract/json.ts';
import { JsonNumber } from './kind.ts';

const NUMERAL = /^([+-]?)0*(\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * A number by its written digits: 0.`digits` × 10^`exponent`, times `sign`. The digits neither begin nor end with a
 * zero, so equal numbers have equal digits, such as `12`, `12.0` and `1.2e1`. Zero has no digits.
 */
export interface NumberDigits {
  readonly sign: -1 | 0 | 1;
  readonly digits: string;
  readonly exponent: number;
}

/** Returns the digits of a JSON number. It may also have a plus sign or leading zeros. */
export function digitsOf(numeral: string): NumberDigits {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMERAL.exec(numeral) ?? [];
  const written = whole + fraction;
  let start = 0;
  let end = written.length;
  while (start < end && written[start] === '0') start += 1;
  while (end > start && written[end - 1] === '0') end -= 1;
  const digits = written.slice(start, end);
  if (digits === '') return { sign: 0, digits, exponent: 0 };
  return { sign: sign === '-' ? -1 : 1, digits, exponent: whole.length - start + Number(exponent) };
}

/** Compares two numbers exactly, as the function of a sort. */
export function compareDigits(left: NumberDigits, right: NumberDigits): number {
  if (left.sign !== right.sign) return left.sign - right.sign;
  if (left.exponent !== right.exponent) return left.exponent < right.exponent ? -left.sign : left.sign;
  if (left.digits === right.digits) return 0;
  return left.digits < right.digits ? -left.sign : left.sign;
}

/**
 * Returns the integer that a JSON number is, however it is written: `12.0` and `1.2e1` are 12 (JSON Schema 2020-12,
 * core §4.2.1). Returns undefined for other values, and for integers beyond 2^53. The written digits decide: the
 * nearest double of `1.00000000000000000001` is an integer, the number is not.
 */
export function integerOf(value: Json): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  if (!(value instanceof JsonNumber)) return undefined;
  const integer = Number(value.lexeme);
  if (!Number.isSafeInteger(integer)) return undefined;
  const { digits, exponent } = digitsOf(value.lexeme);
  return digits.length <= exponent || digits === '' ? integer + 0 : undefined;
}
