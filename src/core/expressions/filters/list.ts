import type { Json } from '../../../contract/json.ts';
import { isJsonArray, isJsonObject } from '../../json/kind.ts';
import { FilterFailure } from '../expression-error.ts';
import { defineFilter } from '../filter.ts';
import { assertOutput, spendOutput, stepsOfText } from '../limits.ts';
import { printValue } from '../print-value.ts';

function isEmpty(value: Json): boolean {
  if (value === null || value === false || value === '') return true;
  if (isJsonArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** The Liquid filters for arrays, and for texts as lists of characters. */
export const LIST_FILTERS = {
  split: defineFilter({
    input: 'liquid_text',
    parameters: { separator: { kind: 'text' } },
    apply: (text, { separator }, tools) => {
      tools.spend(stepsOfText(text) * Math.ceil(separator.length / 16));
      const parts = separator === '' ? [...text] : text.split(separator);
      // Drop empty parts at the end, as Liquid does.
      while (parts.at(-1) === '') parts.pop();
      return parts;
    },
  }),
  join: defineFilter({
    input: 'list',
    parameters: { separator: { kind: 'text', fallback: ' ' } },
    apply: (list, { separator }, tools) => {
      spendOutput(list, tools);
      assertOutput(separator.length * (list.length - 1));
      return list.map(printValue).join(separator);
    },
  }),
  reverse: defineFilter({ input: 'list', apply: (list) => list.toReversed() }),
  first: defineFilter({
    input: 'text_or_list',
    apply: (value) => (typeof value === 'string' ? [...value] : value)[0] ?? null,
  }),
  last: defineFilter({
    input: 'text_or_list',
    apply: (value) => (typeof value === 'string' ? [...value] : value).at(-1) ?? null,
  }),
  slice: defineFilter({
    input: 'text_or_list',
    parameters: { start: { kind: 'position' }, length: { kind: 'count', fallback: 1 } },
    apply: (value, { start, length }) => {
      const items: readonly Json[] = typeof value === 'string' ? [...value] : value;
      const begin = start < 0 ? items.length + start : start;
      const slice = begin < 0 ? [] : items.slice(begin, begin + length);
      return typeof value === 'string' ? slice.join('') : slice;
    },
  }),
  size: defineFilter({
    input: 'value_or_null',
    apply: (value) => {
      if (value === null) return 0;
      if (typeof value === 'string') return [...value].length;
      if (isJsonArray(value)) return value.length;
      if (isJsonObject(value)) return Object.keys(value).length;
      throw new FilterFailure('needs text, an array or an object');
    },
  }),
  default: defineFilter({
    input: 'value_or_null',
    parameters: { value: { kind: 'value' } },
    apply: (input, { value }) => (isEmpty(input) ? value : input),
  }),
};
