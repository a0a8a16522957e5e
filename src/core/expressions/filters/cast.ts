import type { Json } from '../../../contract/json.ts';
import { stringifyJson, textOf } from '../../json/stringify.ts';
import { toJsonNumber } from '../decimal.ts';
import { defineFilter } from '../filter.ts';
import { FilterFailure, spendOutput } from '../limits.ts';

const BOOLEANS = new Map(Object.entries({ true: true, false: false, 1: true, 0: false }));

function castTo<T extends Json>(type: string, value: T | undefined): T {
  if (value === undefined) throw new FilterFailure(`cannot convert this value to ${type}`);
  return value;
}

/**
 * The filters that convert a value to another type. They return null for null, and fail for a value without an obvious
 * counterpart.
 */
export const CAST_FILTERS = {
  stringify: defineFilter({
    input: 'value',
    apply: (value, _args, tools) => {
      if (typeof value === 'string') return value;
      spendOutput(value, tools);
      return stringifyJson(value);
    },
  }),
  to_string: defineFilter({
    input: 'value',
    apply: (value) => castTo('text', typeof value === 'boolean' ? String(value) : textOf(value)),
  }),
  to_number: defineFilter({
    input: 'value',
    apply: (value) => castTo('a number', typeof value === 'string' ? toJsonNumber(value) : numberOrNothing(value)),
  }),
  to_boolean: defineFilter({
    input: 'value',
    apply: (value) =>
      castTo('a boolean', typeof value === 'boolean' ? value : BOOLEANS.get(textOf(value)?.toLowerCase() ?? '')),
  }),
  /** Queries null like any other value. */
  json: defineFilter({
    input: 'value_or_null',
    parameters: { path: { kind: 'json_path' } },
    apply: (value, { path }, tools) => {
      if (tools.queryJson === undefined) throw new Error('unreachable: the json filter runs before its code is loaded');
      return tools.queryJson(path, value, tools);
    },
  }),
};

function numberOrNothing(value: Json): Json | undefined {
  return textOf(value) === undefined ? undefined : value;
}
