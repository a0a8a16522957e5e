import type { Json } from '../../../contract/json.ts';
import { type Decimal, fromDouble, toJsonNumber } from '../decimal.ts';
import { FilterFailure } from '../expression-error.ts';
import { defineFilter, type Filter } from '../filter.ts';

function withOperand(calculate: (left: Decimal, right: Decimal) => number): Filter {
  return defineFilter({
    input: 'number',
    parameters: { operand: { kind: 'number' } },
    apply: (left, { operand }) => fromDouble(calculate(left, operand)),
  });
}

/** Creates a filter that rounds. The filter returns integers unchanged, because a double could change their digits. */
function rounding(round: (value: number) => number): Filter {
  return defineFilter({
    input: 'number',
    apply: (number) => (number.integer ? exact(number) : fromDouble(round(number.value))),
  });
}

function exact(number: Decimal): Json {
  return toJsonNumber(number.text) ?? number.value;
}

function assertDivisor(divisor: Decimal): void {
  if (divisor.value === 0) throw new FilterFailure('cannot divide by zero');
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

/** The arithmetic filters of Liquid. They compute with doubles. */
export const ARITHMETIC_FILTERS = {
  plus: withOperand((left, right) => left.value + right.value),
  minus: withOperand((left, right) => left.value - right.value),
  times: withOperand((left, right) => left.value * right.value),
  /** Dividing two integers returns an integer, rounded down. `7.0` is not an integer. */
  divided_by: withOperand((left, right) => {
    assertDivisor(right);
    const quotient = left.value / right.value;
    return left.integer && right.integer ? Math.floor(quotient) : quotient;
  }),
  /** The result has the sign of the divisor. */
  modulo: withOperand((left, right) => {
    assertDivisor(right);
    return ((left.value % right.value) + right.value) % right.value;
  }),
  round: defineFilter({
    input: 'number',
    parameters: { places: { kind: 'decimal_places', fallback: 0 } },
    apply: (number, { places }) => (number.integer ? exact(number) : fromDouble(roundTo(number.value, places))),
  }),
  ceil: rounding(Math.ceil),
  floor: rounding(Math.floor),
  abs: defineFilter({
    input: 'number',
    apply: (number) => toJsonNumber(number.text.replace(/^[+-]/, '')) ?? Math.abs(number.value),
  }),
};
