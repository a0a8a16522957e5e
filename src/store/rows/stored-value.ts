import { isDamage, Problem } from '../../core/problem.ts';

// A damaged row may hold any value. These functions throw `integrity_failure` for a value that a vault never writes.

export function storedText(value: unknown): string {
  if (typeof value !== 'string') throw new Problem('integrity_failure');
  return value;
}

export function storedBytes(value: unknown): Buffer {
  if (!Buffer.isBuffer(value)) throw new Problem('integrity_failure');
  return value;
}

export function storedNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new Problem('integrity_failure');
  return value;
}

/** The latest time of a `Date`, in milliseconds. */
export const LAST_INSTANT = 8.64e15;

/** Returns a stored time that is not part of the sealed data, or throws `integrity_failure` if it is out of range. */
export function storedInstant(value: unknown): number {
  const instant = storedNumber(value);
  if (instant < 0 || instant > LAST_INSTANT) throw new Problem('integrity_failure');
  return instant;
}

/**
 * Returns whether a store can hold the text. A lone surrogate would become U+FFFD, which matches other texts, and
 * PostgreSQL rejects U+0000.
 */
export function isStorableText(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}

/** Returns an id of a token for storing. Throws a `RangeError` unless it is storable. */
export function storableText(value: string): string {
  if (!isStorableText(value)) throw new RangeError('an id must be well-formed Unicode without U+0000');
  return value;
}

/** Returns the function that reads NULL as undefined, and other values with `read`. */
export function optionally<Value>(read: (value: unknown) => Value): (value: unknown) => Value | undefined {
  return (value) => (value === null ? undefined : read(value));
}

/** Returns the decoded record, or undefined if a stored value is not valid. */
export function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

/** Returns the records of the rows that are valid. */
export function readable<Row, T>(rows: readonly Row[], decode: (row: Row) => T): readonly T[] {
  return rows.map((row) => decoded(() => decode(row))).filter((record) => record !== undefined);
}
