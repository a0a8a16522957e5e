import { JsonNumber } from './kind.ts';
import { memberNames } from './member-names.ts';

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
