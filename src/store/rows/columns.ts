import type { ColumnType } from '../../core/move-ports.ts';
import {
  optionally,
  storableText,
  storedBytes,
  storedDay,
  storedInstant,
  storedKeyVersion,
  storedMonth,
  storedNumber,
  storedText,
} from './stored-value.ts';
import {
  APPLICATION_TYPE_CODES,
  KEY_PURPOSE_CODES,
  storedApplicationType,
  storedKeyPurpose,
  storedTokenType,
  TOKEN_TYPE_CODES,
} from './type-codes.ts';

/** A value as a store keeps it. */
type Stored = string | number | Uint8Array | null;

/**
 * Converts the values of a column. A damaged row may hold any value; `read` throws `integrity_failure` for a value that
 * the table does not allow.
 */
export interface Kind<Value> {
  readonly store: (value: Value) => Stored;
  readonly read: (stored: unknown) => Value;
  readonly type: ColumnType;
}

function integer(read: (stored: unknown) => number): Kind<number> {
  return { type: 'integer', store: (value) => value, read };
}

export const text: Kind<string> = { type: 'text', store: storableText, read: storedText };
export const number = integer(storedNumber);
export const instant = integer(storedInstant);
export const day = integer(storedDay);
export const month = integer(storedMonth);
export const keyVersion = integer(storedKeyVersion);
export const bytes: Kind<Uint8Array> = { type: 'bytes', store: (value) => value, read: storedBytes };

export function optional<Value>({ type, store, read }: Kind<Value>): Kind<Value | undefined> {
  return { type, store: (value) => (value === undefined ? null : store(value)), read: optionally(read) };
}

/** Stores a name as a number. */
function coded<Name extends string>(codes: Readonly<Record<Name, number>>, read: (code: unknown) => Name): Kind<Name> {
  return { type: 'integer', store: (name) => codes[name], read };
}

export const tokenType = coded(TOKEN_TYPE_CODES, storedTokenType);
export const applicationType = coded(APPLICATION_TYPE_CODES, storedApplicationType);
export const keyPurpose = coded(KEY_PURPOSE_CODES, storedKeyPurpose);

/**
 * Describes the columns of a table, one for each member of `Row`. This one list defines SELECT, INSERT and UPDATE and
 * the order of their values. `fixed` columns never change.
 */
export function columns<Row>(
  kinds: { readonly [Name in keyof Row]-?: Kind<Row[Name]> },
  { fixed = [] }: { readonly fixed?: readonly (keyof Row & string)[] } = {},
) {
  const names = Object.keys(kinds) as (keyof Row & string)[];
  const changing = names.filter((name) => !fixed.includes(name));
  // Iterating over pairs is faster than looking up members.
  const pairs = names.map((name) => ({ name, kind: kinds[name] }));
  const changingPairs = pairs.filter(({ name }) => changing.includes(name));

  return {
    names,
    changing,
    types: Object.fromEntries(pairs.map(({ name, kind }) => [name, kind.type])) as Record<
      keyof Row & string,
      ColumnType
    >,

    /** Returns the column list of a SELECT. */
    of: (table: string) => names.map((name) => `${table}.${name}`).join(', '),

    /** Returns the statement that inserts `values`, followed by the values of the columns `more`. */
    insertInto(table: string, ...more: readonly string[]): string {
      const all = [...names, ...more];
      return `INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})`;
    },

    /** Returns the statement of `insertInto` with a condition, whose values follow the others. */
    insertIf(table: string, condition: string, ...more: readonly string[]): string {
      const all = [...names, ...more];
      return `INSERT INTO ${table} (${all.join(', ')}) SELECT ${all.map(() => '?').join(', ')} WHERE ${condition}`;
    },
    values: (row: Row): Stored[] => pairs.map(({ name, kind }) => kind.store(row[name])),

    /** Returns the assignments after SET, for `changes` followed by the values of the columns `more`. */
    assigned: (...more: readonly string[]) => [...changing, ...more].map((name) => `${name} = ?`).join(', '),
    changes: (row: Row): Stored[] => changingPairs.map(({ name, kind }) => kind.store(row[name])),

    /** Converts a list that begins with the columns, and adds the members of `more`, which have no column. */
    read<More extends object>(stored: readonly unknown[], more: More): Row & More {
      const row = { ...more } as { -readonly [Name in keyof Row]: Row[Name] } & More;
      for (const [at, { name, kind }] of pairs.entries()) (row as Row)[name] = kind.read(stored[at]);
      return row;
    },
  };
}
