import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject, JsonNumber, memberNames } from './kind.ts';

/**
 * A value that `stringifyJson` prints: any JSON, including objects with undefined members and opened values as JSON
 * text.
 */
export type Printable =
  | null
  | boolean
  | number
  | string
  | JsonNumber
  | JsonText
  | readonly Printable[]
  | { readonly [name: string]: Printable | undefined };

/** Matches every character that needs an escape, and more: quotes, backslashes, and all but printable ASCII. */
const NEEDS_ESCAPE = /[^ !#-[\]-~]/;

/**
 * Returns the compact JSON text of a value; equal values give equal text. Prints numbers by their lexeme, inserts
 * `JsonText` unchanged, omits members with the value undefined, and escapes lone surrogates as `\uXXXX`.
 */
export function stringifyJson(value: Printable): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return printNumber(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof JsonNumber) return value.lexeme;
  if (value instanceof JsonText) return value.text;
  return isList(value) ? printArray(value) : printObject(value);
}

function quote(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function printNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError('JSON cannot represent NaN or Infinity.');
  return String(value);
}

function isList(value: object): value is readonly Printable[] {
  return Array.isArray(value);
}

function printArray(array: readonly Printable[]): string {
  let text = '[';
  let separator = '';
  for (const item of array) {
    text += separator + stringifyJson(item);
    separator = ',';
  }
  return `${text}]`;
}

function printObject(object: { readonly [name: string]: Printable | undefined }): string {
  let text = '{';
  let separator = '';
  for (const name of memberNames(object)) {
    const value = object[name];
    if (value === undefined) continue;
    text += `${separator}${quote(name)}:${stringifyJson(value)}`;
    separator = ',';
  }
  return `${text}}`;
}

/** JSON text that a reply contains unchanged, so that the vault need not parse an opened value. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

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
