import type { Json } from '../../contract/json.ts';
import { isLonger } from '../is-longer.ts';
import { JsonNumber } from '../json/kind.ts';
import { stringifyJson } from '../json/stringify.ts';
import { FilterFailure } from './expression-error.ts';

/** The maximum bytes of UTF-8 in one expression (decisions §4). */
export const MAX_SOURCE = 1024;

/**
 * The maximum bytes of UTF-8 in the result of an expression, of each filter in it, and of all expressions of a mask
 * together (decisions §4).
 */
export const MAX_OUTPUT = 64 * 1024;

/**
 * The maximum number of characters, items and nodes that the expressions of one budget may read in total. Reading that
 * many takes well under a second.
 */
const MAX_WORK = 4 * 1024 * 1024;

/**
 * Returns the size of a value as output, in bytes: 0 for null, the length of a text, or the length of the JSON text.
 */
export function outputSize(value: Json): number {
  if (value === null) return 0;
  return Buffer.byteLength(typeof value === 'string' ? value : stringifyJson(value));
}

export function exceedsOutput(value: Json): boolean {
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
 * The work limit for a caller without read access to the data. This work takes about a millisecond, so its duration
 * reveals little about the data.
 */
export const UNREAD_WORK = 64 * 1024;

/** A budget that stops a short expression from occupying the process for minutes. */
export interface WorkBudget {
  /** Throws `FilterFailure` when the budget is used up. */
  spend(units: number): void;
}

export function createWorkBudget(units = MAX_WORK): WorkBudget {
  let left = units;
  return {
    spend(units) {
      left -= units;
      if (left < 0) throw new FilterFailure('takes too much work');
    },
  };
}
