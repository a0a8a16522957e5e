import type { Json, JsonArray } from '../../../contract/json.ts';
import { isJsonArray, isJsonObject } from '../../json/kind.ts';
import { compareDigits, digitsOf, type NumberDigits } from '../../json/number-digits.ts';
import { canonicalJson, printValue, textOf } from '../../json/stringify.ts';
import { toDecimal } from '../decimal.ts';
import { defineFilter, type FilterTools } from '../filter.ts';
import { assertOutput, FilterFailure, spendOutput, stepsOfText } from '../limits.ts';
import { sumOf } from './arithmetic.ts';

function isEmpty(value: Json): boolean {
  if (value === null || value === false || value === '') return true;
  if (isJsonArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** The name of a member of the items. The empty text stands for the items themselves. */
const property = { kind: 'text', fallback: '' } as const;

/**
 * Returns the named member of each item, null where it or the item is missing. Throws `FilterFailure` for items of
 * other kinds than objects.
 */
function membersOf(list: JsonArray, name: string): JsonArray {
  if (name === '') return list;
  return list.map((item) => {
    if (item === null) return null;
    if (!isJsonObject(item)) throw new FilterFailure('needs an array of objects');
    return Object.hasOwn(item, name) ? (item[name] ?? null) : null;
  });
}

/** The steps of comparing two items of a sort, besides reading their texts. */
const COMPARING = 4;

/**
 * Returns the items in ascending order of their keys: all numbers, or all texts, which compare by their UTF-16 code
 * units. Items without a key follow. Equal items keep their order.
 */
function inOrder(list: JsonArray, name: string, tools: FilterTools): JsonArray {
  const keys = membersOf(list, name);
  const steps = keys.reduce<number>((sum, key) => sum + COMPARING + stepsOfText(textOf(key) ?? ''), 0);
  tools.spend(steps * Math.ceil(Math.log2(list.length + 1)));
  const pairs = list.map((item, index) => ({ item, key: keys[index] ?? null }));
  const present = pairs.filter(({ key }) => key !== null);
  const missing = pairs.filter(({ key }) => key === null);
  return [...byKey(present), ...missing].map(({ item }) => item);
}

type Keyed = { readonly item: Json; readonly key: Json };

function byKey(pairs: readonly Keyed[]): readonly Keyed[] {
  if (pairs.every(({ key }) => typeof key === 'string')) {
    return pairs.toSorted(({ key: a }, { key: b }) => (String(a) < String(b) ? -1 : Number(String(a) > String(b))));
  }
  const numbers = pairs.map((pair): readonly [NumberDigits, Keyed] => {
    const number = typeof pair.key === 'string' ? undefined : toDecimal(pair.key);
    if (number === undefined) throw new FilterFailure('needs an array of numbers or of texts');
    return [digitsOf(number.text), pair];
  });
  return numbers.toSorted(([a], [b]) => compareDigits(a, b)).map(([, pair]) => pair);
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
  /** Removes items that equal an earlier one, whatever the order of their members. */
  uniq: defineFilter({
    input: 'list',
    parameters: { property },
    apply: (list, args, tools) => {
      const keys = membersOf(list, args.property);
      const seen = new Set<string>();
      return list.filter((_item, index) => {
        const key = keys[index] ?? null;
        spendOutput(key, tools);
        const { size } = seen;
        return seen.add(canonicalJson(key)).size > size;
      });
    },
  }),
  /** Removes null, or the items that lack a member. */
  compact: defineFilter({
    input: 'list',
    parameters: { property },
    apply: (list, args) => {
      const keys = membersOf(list, args.property);
      return list.filter((_item, index) => keys[index] !== null);
    },
  }),
  /** Takes null as an empty array, as Liquid does. */
  concat: defineFilter({
    input: 'list_or_null',
    parameters: { list: { kind: 'list' } },
    apply: (list, { list: other }) => [...list, ...other],
  }),
  /** Takes an object as an array of one item, as Liquid does. */
  map: defineFilter({
    input: 'list_or_object',
    parameters: { property: { kind: 'pattern' } },
    apply: (list, args) => membersOf(list, args.property),
  }),
  sum: defineFilter({
    input: 'list',
    parameters: { property },
    apply: (list, args, tools) => sumOf(membersOf(list, args.property), tools),
  }),
  sort: defineFilter({
    input: 'list',
    parameters: { property },
    apply: (list, args, tools) => inOrder(list, args.property, tools),
  }),
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
