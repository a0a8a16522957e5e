import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from './kind.ts';
import { memberNames } from './member-names.ts';
import { stringifyJson } from './stringify.ts';

/**
 * Returns the canonical JSON text of a value: compact, with the member order and the string escapes of RFC 8785, but
 * with numbers by their lexeme. Equal values give equal text; `1`, `1.0` and `"1"` are different values.
 */
export function canonicalJson(value: Json): string {
  if (isJsonArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return stringifyJson(value);
  let text = '{';
  let separator = '';
  // The default order of `toSorted` is that of RFC 8785 §3.2.3: by UTF-16 code units.
  for (const name of memberNames(value).toSorted()) {
    text += `${separator}${stringifyJson(name)}:${canonicalJson(value[name] ?? null)}`;
    separator = ',';
  }
  return `${text}}`;
}

/** Returns whether two values are equal. The order of members does not matter; numbers are compared by their lexeme. */
export function isSameJson(a: Json, b: Json): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
