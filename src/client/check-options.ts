import { nearestHint } from '../core/nearest-name.ts';

/** The check of an option's value, and a description of valid values for messages. */
export interface OptionRow {
  readonly is: (value: unknown) => boolean;
  readonly expected: string;
}

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/**
 * Checks the options of a call from JavaScript, which has no type check. Throws a `TypeError` for an unknown option or
 * an invalid value.
 */
export function checkOptions(caller: string, rows: Readonly<Record<string, OptionRow>>, options: unknown): void {
  if (typeof options !== 'object' || options === null) throw new TypeError(`${caller} expects an object of options`);
  checkNames(caller, Object.keys(rows), options);
  for (const [name, value] of Object.entries(options)) {
    const row = rows[name];
    if (row !== undefined && value !== undefined && !row.is(value)) {
      throw new TypeError(`${caller}: ${name} must be ${row.expected}`);
    }
  }
}

/** Throws a `TypeError` for an unknown option. */
export function checkNames(caller: string, known: readonly string[], options: object): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const hint = nearestHint(unknown, known, `known options: ${known.join(', ')}`);
  throw new TypeError(`${caller} has no option ${unknown}; ${hint}`);
}
