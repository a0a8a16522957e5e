import type { Json } from '../../../contract/json.ts';
import { stringifyJson } from '../../json/stringify.ts';
import { toJsonNumber } from '../decimal.ts';
import { defineFilter } from '../filter.ts';
import { FilterFailure } from '../filter-failure.ts';
import { textOf } from '../print-value.ts';

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
]);

function castTo<T extends Json>(type: string, value: T | undefined): T {
  if (value === undefined) throw new FilterFailure(`cannot make a ${type} of this value`);
  return value;
}

/** Null passes all four. What has no obvious counterpart fails: nothing is guessed. */
export const CAST_FILTERS = {
  stringify: defineFilter({
    input: 'value',
    apply: (value) => (typeof value === 'string' ? value : stringifyJson(value)),
  }),
  to_string: defineFilter({
    input: 'value',
    apply: (value) => castTo('text', typeof value === 'boolean' ? String(value) : textOf(value)),
  }),
  to_number: defineFilter({
    input: 'value',
    apply: (value) => castTo('number', typeof value === 'string' ? toJsonNumber(value) : numberOrNothing(value)),
  }),
  to_boolean: defineFilter({
    input: 'value',
    apply: (value) =>
      castTo('boolean', typeof value === 'boolean' ? value : BOOLEANS.get(textOf(value)?.toLowerCase() ?? '')),
  }),
};

function numberOrNothing(value: Json): Json | undefined {
  return textOf(value) === undefined ? undefined : value;
}
