import type { Json } from '../../contract/json.ts';
import { isLonger } from '../bytes.ts';
import { didYouMean } from '../nearest-name.ts';
import { toJsonNumber } from './decimal.ts';
import type { Arguments, Filter } from './filter.ts';
import { FILTERS } from './filters.ts';
import { ExpressionError, MAX_SOURCE } from './limits.ts';
import { readArgument } from './parameters.ts';

/** A parsed expression: texts and outputs in order. The result of exactly one output keeps the type of its value. */
export type Template = readonly (string | Output)[];

/** An output of an expression: `{{ … }}`. Positions are offsets in the expression's text. */
export interface Output {
  readonly operand: Operand;
  readonly calls: readonly FilterCall[];
  readonly position: number;
}

/** The value that an output starts with: a path such as `data.a[0]`, or a literal. */
export type Operand = { readonly kind: 'literal'; readonly value: Json } | PathOperand;

export interface PathOperand {
  readonly kind: 'path';
  readonly root: 'data' | 'metadata';
  readonly keys: readonly (string | number)[];
  readonly position: number;
}

export interface FilterCall {
  readonly name: string;
  readonly filter: Filter;
  /** The literal arguments and the defaults, converted and checked. */
  readonly args: Arguments;
  /** The arguments that are paths, which are evaluated with the data. */
  readonly open: readonly { readonly parameter: string; readonly operand: PathOperand }[];
  readonly position: number;
}

/*
 * The grammar: Liquid's outputs without its tags, operators and ranges (decisions §4). Blanks are allowed between all
 * parts of an output, except around the dots of a path and before its brackets.
 *
 *   template = { text | output } ;                             text has neither "{{" nor "{%"
 *   output   = "{{" ["-"] operand { "|" call } ["-"] "}}" ;    "-" trims the text beside it
 *   call     = word [ ":" operand { "," operand } ] ;
 *   operand  = quoted | number | "true" | "false" | "nil" | "null" | path ;
 *   path     = ( "data" | "metadata" ) { "." word | "[" ( quoted | integer ) "]" } ;
 *   number   = [ "+" | "-" ] digits [ "." [ digits ] ] ;
 *   quoted   = "'" { character | escape } "'" | '"' { character | escape } '"' ;
 *   escape   = "\" ( one of "bfnrtv" | "u" hex digits | octal digits | any other character, for itself ) ;
 *   word     = one or more letters, digits, "_", "?" and "-" ; beyond ASCII everything but blanks is a letter
 */
/** White space except the byte order mark, which counts as a letter. */
const BLANK = '[^\\S\\ufeff]';

const WORD_CHARACTER = '(?:[\\w?\\ufeff-]|[^\\x00-\\x7f\\s\\u201c\\u201d])';

/** The source of a pattern that matches a quoted text with its escapes, of any characters (flag `s`). */
export const QUOTED_TEXT = `'(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*"`;

const BLANKS = new RegExp(`${BLANK}*`, 'y');
const BLANKS_BEFORE = new RegExp(`^${BLANK}+`);
const BLANKS_BEHIND = new RegExp(`(?<!${BLANK})${BLANK}+$`);
const WORD = new RegExp(`${WORD_CHARACTER}+`, 'y');
const CLOSING_BRACKET = new RegExp(`${BLANK}*\\]`, 'y');
const ARGUMENT_NAME = new RegExp(`(?:${WORD_CHARACTER}+|${QUOTED_TEXT})${BLANK}*:`, 'sy');
const QUOTED = new RegExp(QUOTED_TEXT, 'sy');
const NUMBER = new RegExp(`[+-]?\\d+(?:\\.(?!\\.)\\d*)?(?!${WORD_CHARACTER})`, 'y');
const OUTPUT = new RegExp(`\\{\\{((?:${QUOTED_TEXT}|[^'"])*?)\\}\\}`, 'sy');
const OPENING = /\{[{%]/g;
const ESCAPE = /\\(?:u([0-9A-Fa-f]{0,4})|([0-7]{1,3})|(.))/gs;

const ESCAPED = new Map(Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }));

/** The literals of the language. `empty` and `blank` are literals of Liquid that this language rejects. */
const LITERALS: ReadonlyMap<string, boolean | null | undefined> = new Map(
  Object.entries({ true: true, false: false, nil: null, null: null, empty: undefined, blank: undefined }),
);

/** Parses an expression. Throws `ExpressionError` for a source that does not match the grammar. */
export function parseTemplate(source: string): Template {
  if (isLonger(source, MAX_SOURCE)) throw new ExpressionError('an expression is limited to 1 KiB', 0);
  const parts: (string | Output)[] = [];
  let at = 0;
  let trims = false;
  while (at < source.length) {
    if (source.startsWith('{%', at)) throw new ExpressionError('Liquid tags are not supported', at);
    if (source.startsWith('{{', at)) {
      const { output, end } = takeOutput(source, at);
      parts.push(output);
      at = end;
      trims = source.endsWith('-}}', end);
      continue;
    }
    OPENING.lastIndex = at;
    const end = OPENING.exec(source)?.index ?? source.length;
    let text = source.slice(at, end);
    if (trims) text = text.replace(BLANKS_BEFORE, '');
    if (source.startsWith('{{-', end)) text = text.replace(BLANKS_BEHIND, '');
    if (text !== '') parts.push(text);
    at = end;
  }
  return parts;
}

/** Parses the output that begins at an offset. Also returns the offset after the output, `end`. */
export function takeOutput(source: string, at: number): { readonly output: Output; readonly end: number } {
  OUTPUT.lastIndex = at;
  const inside = OUTPUT.exec(source)?.[1];
  if (inside === undefined) throw noOutput(at);
  return { output: parseOutput(source, at, inside), end: at + inside.length + '{{}}'.length };
}

/** The state of the parser. `text` ends with the last part of the output, so no match extends beyond the output. */
interface Cursor {
  readonly text: string;
  at: number;
}

/** Returns the match at the cursor and moves past it; undefined when nothing matches. */
function take(cursor: Cursor, token: RegExp): string | undefined {
  token.lastIndex = cursor.at;
  const found = token.exec(cursor.text)?.[0];
  cursor.at += found?.length ?? 0;
  return found;
}

function takeSign(cursor: Cursor, sign: string): boolean {
  take(cursor, BLANKS);
  if (cursor.text[cursor.at] !== sign) return false;
  cursor.at += 1;
  take(cursor, BLANKS);
  return true;
}

function noOutput(position: number): ExpressionError {
  return new ExpressionError('not a Liquid output', position);
}

function parseOutput(source: string, position: number, inside: string): Output {
  const begin = position + '{{'.length + (inside.startsWith('-') ? 1 : 0);
  // Trim only this output: trimming all of the text before it, for each output, would take quadratic time.
  const trimmed = inside.slice(0, inside.endsWith('-') ? -1 : undefined).replace(BLANKS_BEHIND, '');
  const end = Math.max(begin, position + '{{'.length + trimmed.length);
  const cursor: Cursor = { text: source.slice(0, end), at: begin };
  take(cursor, BLANKS);
  if (cursor.at >= cursor.text.length) throw new ExpressionError('the expression is empty', position);
  const operand = parseOperand(cursor);
  const calls: FilterCall[] = [];
  let known = cursor.at;
  while (takeSign(cursor, '|')) {
    calls.push(parseCall(cursor, known));
    known = cursor.at;
  }
  if (cursor.at >= cursor.text.length) return { operand, calls, position };
  const { at } = cursor;
  if (calls.length === 0 && (take(cursor, WORD) ?? take(cursor, QUOTED)) !== undefined) {
    throw new ExpressionError('expected one path or literal', at);
  }
  throw noOutput(/[),]/.test(cursor.text.charAt(at)) ? at : at + 1);
}

/** Parses one filter call. `known` is the offset where the part before the bar ends. */
function parseCall(cursor: Cursor, known: number): FilterCall {
  const position = cursor.at;
  const name = take(cursor, WORD);
  if (name === undefined) throw noOutput(known);
  const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (filter === undefined) {
    throw new ExpressionError(`unknown filter${didYouMean(name, Object.keys(FILTERS))}`, position);
  }
  const given = parseArguments(cursor, name, Object.keys(filter.parameters).length);
  const args: Record<string, unknown> = {};
  const open: FilterCall['open'][number][] = [];
  for (const [index, [parameter, { kind, fallback }]] of Object.entries(filter.parameters).entries()) {
    const argument = given[index];
    if (argument === undefined) {
      if (fallback === undefined) throw new ExpressionError(`${name} needs the argument ${parameter}`, position);
      args[parameter] = readArgument(name, parameter, kind, fallback, position);
      continue;
    }
    const { operand, begin } = argument;
    if (operand.kind === 'path') open.push({ parameter, operand });
    else args[parameter] = readArgument(name, parameter, kind, operand.value, begin);
  }
  return { name, filter, args, open, position };
}

/** Parses the arguments of a filter call. Leaves the cursor after the last one. */
function parseArguments(cursor: Cursor, name: string, most: number) {
  const given: { readonly operand: Operand; readonly begin: number }[] = [];
  const position = cursor.at - name.length;
  for (;;) {
    const known = cursor.at;
    if (!takeSign(cursor, given.length === 0 ? ':' : ',')) {
      cursor.at = known;
      return given;
    }
    const begin = cursor.at;
    if (begin >= cursor.text.length || /[|,)]/.test(cursor.text.charAt(begin))) throw noOutput(known);
    if (take(cursor, ARGUMENT_NAME) !== undefined) {
      throw new ExpressionError(`${name} takes arguments by position, not by name`, position);
    }
    if (given.length === most) throw new ExpressionError(`${name} takes ${most} arguments`, begin);
    given.push({ operand: parseOperand(cursor), begin });
  }
}

function parseOperand(cursor: Cursor): Operand {
  const { at } = cursor;
  const value = takeLiteral(cursor);
  if (value === undefined) return parsePath(cursor);
  // Liquid allows members of literals; this language does not.
  if (/[.[]/.test(cursor.text.charAt(cursor.at))) throw noRoot(at);
  return { kind: 'literal', value };
}

function takeLiteral(cursor: Cursor): Json | undefined {
  const { at } = cursor;
  const quoted = take(cursor, QUOTED);
  if (quoted !== undefined) return unquote(quoted);
  const number = take(cursor, NUMBER);
  if (number !== undefined) return toJsonNumber(number.replace(/\.$/, ''));
  const word = take(cursor, WORD) ?? '';
  const value = LITERALS.get(word);
  if (word === '' || (value === undefined && LITERALS.has(word))) {
    throw new ExpressionError('expected a path or a literal', at);
  }
  if (value === undefined) cursor.at = at;
  return value;
}

/** Returns the text that a quoted text stands for. */
export function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(ESCAPE, (_escape, hex?: string, octal?: string, other = '') => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex || '0', 16));
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
    return ESCAPED.get(other) ?? other;
  });
}

function noRoot(position: number): ExpressionError {
  return new ExpressionError('a path must start with data or metadata', position);
}

function parsePath(cursor: Cursor): PathOperand {
  const position = cursor.at;
  const root = take(cursor, WORD);
  if (root !== 'data' && root !== 'metadata') throw noRoot(position);
  const keys: (string | number)[] = [];
  for (;;) {
    const sign = cursor.text[cursor.at];
    if (sign !== '.' && sign !== '[') return { kind: 'path', root, keys, position };
    cursor.at += 1;
    keys.push(sign === '[' ? takeIndex(cursor) : takeMember(cursor));
  }
}

function takeMember(cursor: Cursor): string {
  const name = take(cursor, WORD);
  if (name === undefined) throw new ExpressionError('expected a member name after the dot', cursor.at - 1);
  return name;
}

function takeIndex(cursor: Cursor): string | number {
  take(cursor, BLANKS);
  const begin = cursor.at;
  const quoted = take(cursor, QUOTED);
  const index = Number(quoted === undefined ? (take(cursor, NUMBER) ?? Number.NaN) : 0);
  if (!Number.isSafeInteger(index) || take(cursor, CLOSING_BRACKET) === undefined) {
    throw new ExpressionError('brackets must contain a whole number or a quoted name', begin);
  }
  return quoted === undefined ? index : unquote(quoted);
}
