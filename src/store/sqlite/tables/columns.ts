import type { ApplicationType } from '../../../contract/permissions.ts';
import { TOKEN_TYPE_NAMES, TOKEN_TYPES, type TokenType } from '../../../contract/token-types.ts';
import { Problem } from '../../../core/problem.ts';
import { uuidBytes, uuidText } from './uuid-bytes.ts';

/** A value as SQLite stores it. */
type Stored = string | number | Uint8Array | null;

/**
 * Converts the values of a column. A damaged row may hold any value; `read` throws `integrity_failure` for a value that
 * the table does not allow.
 */
export interface Kind<Value> {
  readonly store: (value: Value) => Stored;
  readonly read: (stored: unknown) => Value;
  readonly isBlob?: boolean | undefined;
}

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

/** Returns whether SQLite can store the text. It would store a lone surrogate as U+FFFD, which matches other texts. */
export function isStorableText(value: string): boolean {
  return value.isWellFormed();
}

function storableText(value: string): string {
  if (!isStorableText(value)) throw new RangeError('an id must be well-formed Unicode');
  return value;
}

export const text: Kind<string> = { store: storableText, read: storedText };
export const number: Kind<number> = { store: (value) => value, read: storedNumber };
export const instant: Kind<number> = { store: (value) => value, read: storedInstant };
export const bytes: Kind<Uint8Array> = { store: (value) => value, read: storedBytes, isBlob: true };
export const uuid: Kind<string> = { store: uuidBytes, read: uuidText };

export function optional<Value>({ store, read, isBlob }: Kind<Value>): Kind<Value | undefined> {
  return {
    store: (value) => (value === undefined ? null : store(value)),
    read: (stored) => (stored === null ? undefined : read(stored)),
    isBlob,
  };
}

/** Stores a name as a number. `read` throws `integrity_failure` for an unknown number. */
function coded<Name extends string>(codes: Readonly<Record<Name, number>>): Kind<Name> {
  const names = new Map<unknown, Name>();
  for (const name in codes) names.set(codes[name], name);
  return {
    store: (name) => codes[name],
    read(code) {
      const name = names.get(code);
      if (name === undefined) throw new Problem('integrity_failure');
      return name;
    },
  };
}

/** A row as SQLite returns it, which `read` converts to a `Row`. */
export type StoredRow<Row> = { readonly [Name in keyof Row]-?: unknown };

/**
 * Describes the columns of a table, one for each member of `Row`. This one list defines SELECT, INSERT and UPDATE and
 * the order of their values. `fixed` columns never change.
 */
export function columns<Row>(
  kinds: { readonly [Name in keyof Row]-?: Kind<Row[Name]> },
  { fixed }: { readonly fixed: readonly (keyof Row & string)[] },
) {
  const names = Object.keys(kinds) as (keyof Row & string)[];
  const changing = names.filter((name) => !fixed.includes(name));
  // Iterating over pairs is faster than looking up members.
  const pairs = names.map((name) => ({ name, kind: kinds[name] }));
  const changingPairs = pairs.filter(({ name }) => changing.includes(name));

  return {
    names,
    changing,
    blobs: new Set<string>(names.filter((name) => kinds[name].isBlob)),

    /** Returns the column list of a SELECT. */
    of: (table: string) => names.map((name) => `${table}.${name}`).join(', '),

    /** Returns the statement that inserts `values`, followed by the values of the columns `more`. */
    insertInto(table: string, ...more: readonly string[]): string {
      const all = [...names, ...more];
      return `INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})`;
    },
    values: (row: Row): Stored[] => pairs.map(({ name, kind }) => kind.store(row[name])),

    /** Returns the assignments after SET, for `changes` followed by the values of the columns `more`. */
    assigned: (...more: readonly string[]) => [...changing, ...more].map((name) => `${name} = ?`).join(', '),
    changes: (row: Row): Stored[] => changingPairs.map(({ name, kind }) => kind.store(row[name])),

    /** Converts a row and adds the members of `more`, which have no column. */
    read<More extends object>(stored: StoredRow<Row>, more: More): Row & More {
      const row = { ...more } as { -readonly [Name in keyof Row]: Row[Name] } & More;
      for (const { name, kind } of pairs) (row as Row)[name] = kind.read(stored[name]);
      return row;
    },
  };
}

/** The stored number of each token type. A number is never reused. */
export const TOKEN_TYPE_CODES = Object.fromEntries(
  TOKEN_TYPE_NAMES.map((name) => [name, TOKEN_TYPES[name].code]),
) as Readonly<Record<TokenType, number>>;

export const APPLICATION_TYPE_CODES = {
  private: 1,
  public: 2,
  management: 3,
  expiring: 4,
} as const satisfies Record<ApplicationType, number>;

export const KEY_PURPOSE_CODES = { data: 1, index: 2 } as const satisfies Record<'data' | 'index', number>;

export const tokenType = coded<TokenType>(TOKEN_TYPE_CODES);
export const applicationType = coded<ApplicationType>(APPLICATION_TYPE_CODES);
export const keyPurpose = coded<'data' | 'index'>(KEY_PURPOSE_CODES);
