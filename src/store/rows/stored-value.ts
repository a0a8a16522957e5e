import { MAX_KEY_VERSION } from '../../contract/application-key.ts';
import { decoded, Problem } from '../../core/problem.ts';

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

/** The maximum number of a row, and of rows. SQLite assigns a larger number only after an edit outside the vault. */
export const MAX_ROW = 2 ** 48;

/** Returns a stored number of tokens, or throws `integrity_failure` if it is out of range. */
export function storedCount(value: unknown): number {
  const count = storedNumber(value);
  if (count < 0 || count > MAX_ROW) throw new Problem('integrity_failure');
  return count;
}

/** The last day of the year 9999, in days since 1970-01-01, and its last month: year × 12 + month from 0. */
export const LAST_DAY = 2_932_896;
export const LAST_MONTH = 119_999;

/**
 * Returns the function that reads a value that no seal protects. It returns `fallback` for an impossible value, which
 * must not hide the record. `vault doctor` reports the value.
 */
const unsealed = (last: number, fallback: number) => (value: unknown) =>
  Number.isInteger(value) && 0 <= (value as number) && (value as number) <= last ? (value as number) : fallback;

export const storedDay = unsealed(LAST_DAY, 0);
export const storedMonth = unsealed(LAST_MONTH, 0);
/** Returns the number of keys that an application has had. An impossible number leaves no version for a new key. */
export const storedKeyVersion = unsealed(MAX_KEY_VERSION - 1, MAX_KEY_VERSION);

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

/** Returns the records of the valid rows. */
export function readable<Row, T>(rows: readonly Row[], decode: (row: Row) => T): readonly T[] {
  return rows.map((row) => decoded(() => decode(row))).filter((record) => record !== undefined);
}
