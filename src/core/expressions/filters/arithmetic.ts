import type { Json } from '../../../contract/json.ts';
import { compareDigits, digitsOf } from '../../json/number-digits.ts';
import { fromDouble, fromInteger, toBigInt, toDecimal, toJson, toJsonNumber } from '../decimal.ts';
import { defineFilter, type Filter } from '../filter.ts';
import { FilterFailure, stepsOfText, type WorkBudget } from '../limits.ts';

const operand = { kind: 'number' } as const;

/** An operation on two integers, and on two doubles if one of the numbers is no integer. */
interface Operation {
  readonly exact: (left: bigint, right: bigint) => bigint;
  readonly double: (left: number, right: number) => number;
}

function withOperand({ exact, double }: Operation): Filter {
  return defineFilter({
    input: 'number',
    parameters: { operand },
    apply: (left, { operand: right }, tools) => {
      if (!left.integer || !right.integer) return fromDouble(double(left.value, right.value));
      return fromInteger(exact(toBigInt(left, tools), toBigInt(right, tools)));
    },
  });
}

function dividing(operation: Operation): Filter {
  const assertDivisor = (divisor: number | bigint) => {
    // Compare loosely: the divisor is 0 or 0n.
    if (Number(divisor) === 0) throw new FilterFailure('cannot divide by zero');
  };
  return withOperand({
    exact: (left, right) => {
      assertDivisor(right);
      return operation.exact(left, right);
    },
    double: (left, right) => {
      assertDivisor(right);
      return operation.double(left, right);
    },
  });
}

/** Returns the remainder with the sign of the divisor. */
function exactModulo(left: bigint, right: bigint): bigint {
  const remainder = left % right;
  return remainder !== 0n && remainder < 0n !== right < 0n ? remainder + right : remainder;
}

/** Creates a filter that rounds. The filter returns integers unchanged, because a double could change their digits. */
function rounding(round: (value: number) => number): Filter {
  return defineFilter({
    input: 'number',
    apply: (number) => (number.integer ? toJson(number) : fromDouble(round(number.value))),
  });
}

/** Creates a filter that returns its input or its operand, unchanged. */
function choosing(takesInput: (difference: number) => boolean): Filter {
  return defineFilter({
    input: 'number',
    parameters: { operand },
    apply: (number, { operand: other }) =>
      toJson(takesInput(compareDigits(digitsOf(number.text), digitsOf(other.text))) ? number : other),
  });
}

/** Returns `value` × 10^`places`, computed from the decimal text: 1.005 × 100 is 100.5, not slightly less. */
function shift(value: number, places: number): number {
  const [mantissa, exponent = '0'] = String(value).split('e');
  return Number(`${mantissa}e${Number(exponent) + places}`);
}

/** Returns a number rounded to `places` decimal places. Rounds halves away from zero. */
function roundTo(value: number, places: number): number {
  const scaled = shift(Math.abs(value), places);
  // A larger double has no fraction to round.
  if (scaled > Number.MAX_SAFE_INTEGER) return value;
  return Math.sign(value) * shift(Math.round(scaled), -places);
}

/** The digits of a sum that one step adds to. */
const DIGITS_A_STEP = 1024;

/**
 * Returns the sum of numbers and texts of numbers; null counts as 0. Throws `FilterFailure` for a value of another
 * kind.
 */
export function sumOf(values: readonly Json[], work: WorkBudget): Json {
  const numbers = values.map((value) => {
    const number = toDecimal(value ?? 0);
    if (number === undefined) throw new FilterFailure('needs an array of numbers');
    work.spend(1 + stepsOfText(number.text));
    return number;
  });
  if (!numbers.every(({ integer }) => integer)) return fromDouble(numbers.reduce((sum, { value }) => sum + value, 0));
  let sum = 0n;
  let longest = 0;
  for (const number of numbers) {
    // Adding even a short number takes time for each digit of the sum.
    longest = Math.max(longest, number.text.length);
    work.spend(Math.ceil(longest / DIGITS_A_STEP));
    sum += toBigInt(number, work);
  }
  return fromInteger(sum);
}

/** The arithmetic filters of Liquid. Integers are exact at any size; other numbers are doubles. */
export const ARITHMETIC_FILTERS = {
  plus: withOperand({ exact: (left, right) => left + right, double: (left, right) => left + right }),
  minus: withOperand({ exact: (left, right) => left - right, double: (left, right) => left - right }),
  times: withOperand({ exact: (left, right) => left * right, double: (left, right) => left * right }),
  /** Dividing two integers returns an integer, rounded down. `7.0` is not an integer. */
  divided_by: dividing({
    exact: (left, right) => (left - exactModulo(left, right)) / right,
    double: (left, right) => left / right,
  }),
  /** The result has the sign of the divisor. */
  modulo: dividing({ exact: exactModulo, double: (left, right) => ((left % right) + right) % right }),
  round: defineFilter({
    input: 'number',
    parameters: { places: { kind: 'decimal_places', fallback: 0 } },
    apply: (number, { places }) => (number.integer ? toJson(number) : fromDouble(roundTo(number.value, places))),
  }),
  ceil: rounding(Math.ceil),
  floor: rounding(Math.floor),
  abs: defineFilter({
    input: 'number',
    apply: (number) => toJsonNumber(number.text.replace(/^[+-]/, '')) ?? Math.abs(number.value),
  }),
  at_least: choosing((difference) => difference >= 0),
  at_most: choosing((difference) => difference <= 0),
};
