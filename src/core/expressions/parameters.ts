import type { Json, JsonArray } from '../../contract/json.ts';
import { isJsonArray } from '../json/kind.ts';
import { integerOf } from '../json/number-digits.ts';
import { textOf } from '../json/stringify.ts';
import { type Decimal, toDecimal } from './decimal.ts';
import { ExpressionError, MAX_OUTPUT } from './limits.ts';

/** Returns an integer in a range. Accepts only numbers, not their text: `reveal_last: '4'` is a wrong argument. */
function integerIn(value: Json, least: number, most: number): number | undefined {
  const integer = integerOf(value);
  return integer !== undefined && integer >= least && integer <= most ? integer : undefined;
}

function character(value: Json): string | undefined {
  const text = textOf(value);
  return text !== undefined && text.length <= 2 && [...text].length === 1 ? text : undefined;
}

/**
 * Returns a function that reads how many digits to reveal: a number, or whether to reveal `usual` of them. Templates of
 * other services write `true` as text, too.
 */
function digits(usual: number) {
  return (value: Json): number | undefined => {
    if (value === true || value === 'true') return usual;
    return value === false || value === 'false' ? 0 : integerIn(value, 0, MAX_OUTPUT);
  };
}

const DIGITS = 'true, false or a whole number from 0 to 65536';

function pattern(value: Json): string | undefined {
  const text = textOf(value);
  return text !== undefined && text.length >= 1 && text.length <= 1024 ? text : undefined;
}

/** The kinds of arguments. `read` returns undefined for a value of another kind. */
const PARAMETERS = {
  count: { expects: 'a whole number from 0 to 65536', read: (value: Json) => integerIn(value, 0, MAX_OUTPUT) },
  position: {
    expects: 'a whole number',
    read: (value: Json) => integerIn(value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  },
  word_count: { expects: 'a whole number from 1 to 65536', read: (value: Json) => integerIn(value, 1, MAX_OUTPUT) },
  decimal_places: { expects: 'a whole number from 0 to 15', read: (value: Json) => integerIn(value, 0, 15) },
  number: {
    expects: 'a number',
    read: (value: Json): Decimal | undefined => (typeof value === 'string' ? undefined : toDecimal(value)),
  },
  text: { expects: 'text', read: textOf },
  pattern: { expects: 'text of 1 to 1024 characters', read: pattern },
  character: { expects: 'one character', read: character },
  json_path: {
    expects: 'a JSONPath of 1 to 1024 characters',
    read: (value: Json) => (typeof value === 'string' ? pattern(value) : undefined),
  },
  bin: { expects: DIGITS, read: digits(6) },
  last_four: { expects: DIGITS, read: digits(4) },
  list: { expects: 'an array', read: (value: Json): JsonArray | undefined => (isJsonArray(value) ? value : undefined) },
  value: { expects: 'a value', read: (value: Json): Json | undefined => value },
} as const;

export type ParameterKind = keyof typeof PARAMETERS;
export type ArgumentOf<K extends ParameterKind> = Exclude<ReturnType<(typeof PARAMETERS)[K]['read']>, undefined>;

/** Returns an argument converted to its parameter's kind. Throws `ExpressionError` for a value of another kind. */
export function readArgument(
  filter: string,
  parameter: string,
  kind: ParameterKind,
  value: Json,
  position: number,
): unknown {
  const argument = PARAMETERS[kind].read(value);
  if (argument === undefined)
    throw new ExpressionError(`${parameter} of ${filter} must be ${PARAMETERS[kind].expects}`, position);
  return argument;
}
