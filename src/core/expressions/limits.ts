import type { Json } from '../../contract/json.ts';
import { EXPRESSION_STEPS } from '../../contract/limits.ts';
import { isLonger } from '../bytes.ts';
import { isJsonArray, isJsonObject, JsonNumber } from '../json/kind.ts';
import { stringifyJson } from '../json/stringify.ts';

/**
 * The error for an expression (decisions §4) that was rejected or failed. `reason` is a fixed text that names filters
 * and parameters and never quotes the expression or the data, so the caller may see it.
 */
export class ExpressionError extends Error {
  readonly reason: string;
  /** The offset in the expression's text, in UTF-16 code units, from 0. */
  readonly position: number;
  /**
   * The path of the expression in a mask, such as `card.numbers.0`. Empty for a mask that is one string, and for other
   * expressions.
   */
  readonly path: string;

  constructor(reason: string, position: number, path = '') {
    super(`${reason} (character ${position})`);
    this.name = 'ExpressionError';
    this.reason = reason;
    this.position = position;
    this.path = path;
  }
}

/**
 * The error that a filter throws. A filter does not know its position, so its caller converts this error into an
 * `ExpressionError`.
 */
export class FilterFailure extends Error {
  /** A fixed text that follows the filter's name: `needs an array`. */
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.name = 'FilterFailure';
    this.reason = reason;
  }
}

/** The maximum bytes of UTF-8 in one expression (decisions §4). */
export const MAX_SOURCE = 1024;

/**
 * The maximum bytes of UTF-8 in the result of an expression, of each filter in it, and of all expressions of a mask
 * together (decisions §4).
 */
export const MAX_OUTPUT = 64 * 1024;

/**
 * Returns the size of a value as output, in bytes: 0 for null, the length of a text, or the length of the JSON text.
 */
export function outputSize(value: Json): number {
  if (value === null) return 0;
  return Buffer.byteLength(typeof value === 'string' ? value : stringifyJson(value));
}

function exceedsOutput(value: Json): boolean {
  if (typeof value === 'string') return isLonger(value, MAX_OUTPUT);
  if (typeof value !== 'object' || value === null) return false;
  return isLonger(value instanceof JsonNumber ? value.lexeme : stringifyJson(value), MAX_OUTPUT);
}

/**
 * Throws `FilterFailure` for an output that would be too long. A filter calls this before it builds the output: where
 * lengths multiply, a later check would be too late.
 */
export function assertOutput(length: number): void {
  if (length > MAX_OUTPUT) throw new FilterFailure('returns more than 64 KiB');
}

/**
 * The step limit for a caller without read access to the data. These steps take about a millisecond, so their duration
 * reveals little about the data.
 */
export const UNREAD_WORK = 16 * 1024;

/** A budget of steps. It stops a short expression from occupying the process, after the same work on every machine. */
export interface WorkBudget {
  /** Throws `FilterFailure` when the budget is used up. */
  spend(steps: number): void;
}

/** Creates a budget. Its steps are also spent from `all`, the budget of all expressions of a call. */
export function createWorkBudget(steps: number, all?: WorkBudget): WorkBudget {
  let remaining = steps;
  return {
    spend(steps) {
      remaining -= steps;
      if (remaining < 0) throw new FilterFailure('takes too much work');
      all?.spend(steps);
    },
  };
}

/** Creates the budget of expressions over data with this JSON text. */
export function budgetFor(dataText: string, all?: WorkBudget): WorkBudget {
  return createWorkBudget(EXPRESSION_STEPS.base + EXPRESSION_STEPS.perByte * Buffer.byteLength(dataText), all);
}

/**
 * The steps for each member of an object. Listing the members of a large object takes several times as long as reading
 * as many characters.
 */
const NAMING = 8;

/** Returns the steps of reading a text. */
export function stepsOfText(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Returns the steps of reading a value, without what its items and members contain. */
export function stepsOfReading(value: Json): number {
  if (typeof value === 'string') return 1 + stepsOfText(value);
  if (isJsonArray(value)) return 1 + value.length;
  if (value instanceof JsonNumber) return 1 + stepsOfText(value.lexeme);
  return isJsonObject(value) ? 2 + NAMING * Object.keys(value).length : 1;
}

/**
 * The steps of printing a value never exceed twice the length of its JSON text, so a value that takes more is longer
 * than any output.
 */
const MAX_PRINTING = 2 * MAX_OUTPUT;

/**
 * Spends the steps of printing a value, with what its items and members contain. Throws `FilterFailure` for a value
 * that is longer than the output limit, without printing it first.
 */
export function spendOutput(value: Json, work: WorkBudget): void {
  const steps = typeof value === 'string' ? 1 + stepsOfText(value) : stepsOfPrinting(value, MAX_PRINTING);
  if (steps > MAX_PRINTING || exceedsOutput(value)) throw new FilterFailure('returns more than 64 KiB');
  work.spend(steps);
}

/** Returns the steps of printing a value; a larger number than `most` as soon as they exceed it. */
function stepsOfPrinting(value: Json, most: number): number {
  let steps = stepsOfReading(value);
  if (isJsonArray(value)) {
    for (const item of value) {
      if (steps > most) break;
      steps += stepsOfPrinting(item, most - steps);
    }
  } else if (isJsonObject(value)) {
    for (const name in value) {
      if (steps > most) break;
      steps += stepsOfText(name) + stepsOfPrinting(value[name] ?? null, most - steps);
    }
  }
  return steps;
}
