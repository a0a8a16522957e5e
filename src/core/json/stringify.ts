import { JsonNumber } from './kind.ts';
import { memberNames } from './member-names.ts';

/** A printable value: any JSON, and objects of handlers with undefined members and opened values as text. */
export type Printable =
  | null
  | boolean
  | number
  | string
  | JsonNumber
  | JsonText
  | readonly Printable[]
  | { readonly [name: string]: Printable | undefined };

/** Everything that needs an escape, and a little more: quotes, backslashes, all but printable ASCII. */
const NEEDS_ESCAPE = /[^ !#-[\]-~]/;

/**
 * Returns compact JSON text; equal values give equal text. Prints numbers by their lexeme, inserts `JsonText`
 * unchanged, omits members with the value undefined, and escapes lone surrogates as `\uXXXX`.
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
  if (!Number.isFinite(value)) throw new TypeError('JSON has no such number.');
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

/** JSON text that goes into a reply unchanged, so that an opened value need not be parsed. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
