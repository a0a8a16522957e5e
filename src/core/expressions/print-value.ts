import type { Json } from '../../contract/json.ts';
import { JsonNumber } from '../json/kind.ts';
import { stringifyJson } from '../json/stringify.ts';

/** Returns a value as text: numbers by their lexeme, null as the empty text, arrays and objects as compact JSON. */
export function printValue(value: Json): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : stringifyJson(value);
}

/** Returns the text of a string or a number; undefined for other values. */
export function textOf(value: Json): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return value instanceof JsonNumber ? value.lexeme : undefined;
}
