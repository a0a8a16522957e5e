import type { Json, JsonArray } from '../../contract/json.ts';
import { isJsonArray } from '../json/kind.ts';
import { toDecimal } from './decimal.ts';
import { textOf } from './print-value.ts';

function liquidText(value: Json): string | undefined {
  return typeof value === 'boolean' ? String(value) : textOf(value);
}

function textOrList(value: Json): string | JsonArray | undefined {
  return isJsonArray(value) ? value : textOf(value);
}

/**
 * What a filter may be given. `read` answers undefined for what it is not; `takesNull` is false where null passes the
 * filter unchanged: what the data lacks stays missing instead of becoming an empty text.
 */
export const INPUTS = {
  /** For filters that hide something: what has no obvious text is refused, never shown. */
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
  number: { expects: 'a number', takesNull: false, read: toDecimal },
  value: { expects: 'a value', takesNull: false, read: (value: Json): Json | undefined => value },
  value_or_null: { expects: 'a value', takesNull: true, read: (value: Json): Json | undefined => value },
} as const;

export type InputKind = keyof typeof INPUTS;
export type InputOf<K extends InputKind> = Exclude<ReturnType<(typeof INPUTS)[K]['read']>, undefined>;
