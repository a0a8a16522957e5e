import type { Json, JsonArray } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from '../json/kind.ts';
import { textOf } from '../json/stringify.ts';
import type { Random } from '../ports.ts';
import { toDecimal } from './decimal.ts';
import { FilterFailure, type WorkBudget } from './limits.ts';
import type { ArgumentOf, ParameterKind } from './parameters.ts';
import type { QueryJson } from './query-json.ts';

/** The context that a filter receives in addition to its input and its arguments. */
export interface FilterTools extends WorkBudget {
  /** The random source. Present only for `id`, which allows random results. */
  readonly random?: Random | undefined;
  /** The JSONPath function. Present only after the load of a template that names the `json` filter. */
  readonly queryJson?: QueryJson | undefined;
}

/** A parameter without a `fallback` is required. */
export interface Parameter<K extends ParameterKind = ParameterKind> {
  readonly kind: K;
  readonly fallback?: string | number | boolean;
}

type Parameters = Readonly<Record<string, Parameter>>;
type ArgumentsOf<P extends Parameters> = { readonly [N in keyof P]: ArgumentOf<P[N]['kind']> };

/** The arguments of one call by parameter name, converted to their parameters' kinds. */
export type Arguments = Readonly<Record<string, unknown>>;

/**
 * A filter (decisions §4). `run` throws `FilterFailure` for unsuitable input, so a filter never passes on a value that
 * it should hide. Parameters are positional, in the order of `parameters`.
 */
export interface Filter {
  readonly parameters: Parameters;
  /** True for a filter whose result is random; such a filter is allowed only in `id`. */
  readonly random: boolean;
  run(input: Json, args: Arguments, tools: FilterTools): Json;
}

/** Returns a filter with its parameters and their defaults, such as `reveal_last: length, mask_char='X'`. */
export function signatureOf(name: string, { parameters }: Filter): string {
  const named = Object.entries(parameters).map(([parameter, { fallback }]) =>
    fallback === undefined ? parameter : `${parameter}=${typeof fallback === 'string' ? `'${fallback}'` : fallback}`,
  );
  return named.length === 0 ? name : `${name}: ${named.join(', ')}`;
}

interface FilterRow<I extends InputKind, P extends Parameters> {
  readonly input: I;
  readonly parameters?: P;
  readonly random?: boolean;
  readonly apply: (input: InputOf<I>, args: ArgumentsOf<P>, tools: FilterTools) => Json;
}

export function defineFilter<I extends InputKind, const P extends Parameters = Record<never, Parameter>>(
  row: FilterRow<I, P>,
): Filter {
  const { expects, takesNull, read } = INPUTS[row.input];
  return {
    parameters: row.parameters ?? {},
    random: row.random ?? false,
    run(input, args, tools) {
      if (input === null && !takesNull) return null;
      const value = read(input);
      if (value === undefined) throw new FilterFailure(`needs ${expects}`);
      // The casts are safe: the types of the row derive from the tables that read the input and the arguments.
      return row.apply(value as InputOf<I>, args as ArgumentsOf<P>, tools);
    },
  };
}

function liquidText(value: Json): string | undefined {
  return typeof value === 'boolean' ? String(value) : textOf(value);
}

function textOrList(value: Json): string | JsonArray | undefined {
  return isJsonArray(value) ? value : textOf(value);
}

/**
 * The kinds of input. `read` returns undefined for a value of another kind. With `takesNull: false`, null passes the
 * filter unchanged, so that missing data stays missing.
 */
export const INPUTS = {
  /** For filters that hide a value. Rejects values without an obvious text instead of printing them. */
  text: { expects: 'text or a number', takesNull: false, read: textOf },
  liquid_text: { expects: 'text, a number or a boolean', takesNull: false, read: liquidText },
  liquid_text_or_null: {
    expects: 'text, a number or a boolean',
    takesNull: true,
    read: (value: Json) => (value === null ? '' : liquidText(value)),
  },
  text_or_list: { expects: 'text, a number or an array', takesNull: false, read: textOrList },
  list: {
    expects: 'an array',
    takesNull: false,
    read: (value: Json) => (isJsonArray(value) ? value : undefined),
  },
  list_or_null: {
    expects: 'an array',
    takesNull: true,
    read: (value: Json) => (value === null ? [] : isJsonArray(value) ? value : undefined),
  },
  list_or_object: {
    expects: 'an array or an object',
    takesNull: false,
    read: (value: Json) => (isJsonObject(value) ? [value] : isJsonArray(value) ? value : undefined),
  },
  object: {
    expects: 'an object',
    takesNull: false,
    read: (value: Json) => (isJsonObject(value) ? value : undefined),
  },
  number: { expects: 'a number', takesNull: false, read: toDecimal },
  value: { expects: 'a value', takesNull: false, read: (value: Json): Json | undefined => value },
  value_or_null: { expects: 'a value', takesNull: true, read: (value: Json): Json | undefined => value },
} as const;

export type InputKind = keyof typeof INPUTS;
export type InputOf<K extends InputKind> = Exclude<ReturnType<(typeof INPUTS)[K]['read']>, undefined>;
