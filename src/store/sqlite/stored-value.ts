import { Problem } from '../../core/problem.ts';

/*
 * Of a damaged row anything may come, whatever the table's declaration says: a flipped bit makes a number of a text. All
 * throw `integrity_failure` for what the declaration excludes.
 */

export function storedText(value: string): string {
  if (typeof value !== 'string') throw new Problem('integrity_failure');
  return value;
}

export function storedBytes(value: Buffer): Buffer {
  if (!Buffer.isBuffer(value)) throw new Problem('integrity_failure');
  return value;
}

export function optionalBytes(value: Buffer | null): Buffer | undefined {
  return value === null ? undefined : storedBytes(value);
}

export function storedNumber(value: number): number {
  if (!Number.isSafeInteger(value)) throw new Problem('integrity_failure');
  return value;
}

export function optionalNumber(value: number | null): number | undefined {
  return value === null ? undefined : storedNumber(value);
}

/** The last that a `Date` can hold, in milliseconds. */
export const LAST_INSTANT = 8.64e15;

/** For times that no record is sealed with: what is none would be found by nobody before it is written out. */
export function storedInstant(value: number): number {
  if (storedNumber(value) < 0 || value > LAST_INSTANT) throw new Problem('integrity_failure');
  return value;
}
