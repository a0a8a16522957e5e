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

/** Everything that must be escaped, and a little more: quotes, backslashes, whatever is not printable ASCII. */
const NEEDS_ESCAPE = /[^ !#-[\]-~]/;

/**
 * Compact JSON text of a value; the same value always gives the same text. Numbers kept by lexeme are printed by it,
 * `JsonText` is spliced as it stands, members whose value is undefined are left out, lone surrogates become `\uXXXX`.
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

/** JSON text that is spliced into a reply unchanged: an opened value is never parsed only to be printed. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
