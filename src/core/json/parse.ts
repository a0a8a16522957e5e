import type { Json, JsonArray, JsonObject } from '../../contract/json.ts';
import { JsonNumber } from './json-number.ts';
import { type Cursor, refuse } from './json-syntax-error.ts';
import { keepMemberOrder, MemberMap } from './member-names.ts';
import { parseString } from './parse-string.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const LITERALS: ReadonlyMap<number, readonly [text: string, value: boolean | null]> = new Map([
  [0x74, ['true', true]],
  [0x66, ['false', false]],
  [0x6e, ['null', null]],
]);

/** An integer of this many characters is exact in a double and prints as it was written. */
const EXACT_LENGTH = 15;

/** Deeper than anything that the vault keeps or answers (`MAX_DEPTH`): what was accepted once can be read again, whatever the limit is now. */
const DEEPEST = 1024;

/**
 * Parses JSON (RFC 8259, strictly) without losing anything: numbers keep their lexeme, `__proto__` is a member like any
 * other, lone surrogates stay and the order of members is kept. A repeated member name is refused (RFC 8259 §4 leaves it
 * open, and readers that differ make it dangerous). `maxDepth` is how deep arrays and objects may nest. Throws
 * `JsonSyntaxError`.
 */
export function parseJson(text: string, options: { readonly maxDepth?: number } = {}): Json {
  const cursor: Cursor = { text, maxDepth: options.maxDepth ?? DEEPEST, path: [], at: 0, depth: 0 };
  const value = parseValue(cursor);
  skipSpace(cursor);
  if (cursor.at < text.length) throw refuse(cursor, 'syntax', 'nothing may follow the value');
  return value;
}

/** Returns the code unit it stops at; NaN, which equals nothing, at the end. */
function skipSpace(cursor: Cursor): number {
  const { text } = cursor;
  let { at } = cursor;
  let code = text.charCodeAt(at);
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++at);
  cursor.at = at;
  return code;
}

function parseValue(cursor: Cursor): Json {
  const code = skipSpace(cursor);
  if (code === QUOTE) return parseString(cursor);
  if (code === OPEN_BRACE) return parseObject(cursor);
  if (code === OPEN_BRACKET) return parseArray(cursor);
  if (code === MINUS || (code >= ZERO && code <= NINE)) return parseNumber(cursor);
  const literal = LITERALS.get(code);
  if (literal === undefined || !cursor.text.startsWith(literal[0], cursor.at)) {
    throw refuse(cursor, 'syntax', 'a value is expected here');
  }
  cursor.at += literal[0].length;
  return literal[1];
}

function enter(cursor: Cursor): void {
  if (cursor.depth >= cursor.maxDepth) throw refuse(cursor, 'depth', `it is nested more than ${cursor.maxDepth} deep`);
  cursor.depth += 1;
  cursor.at += 1;
}

function leave(cursor: Cursor): void {
  cursor.depth -= 1;
  cursor.at += 1;
}

function parseArray(cursor: Cursor): JsonArray {
  const array: Json[] = [];
  const level = cursor.depth;
  enter(cursor);
  cursor.path[level] = 0;
  if (skipSpace(cursor) !== CLOSE_BRACKET) {
    for (;;) {
      array.push(parseValue(cursor));
      const code = skipSpace(cursor);
      if (code === CLOSE_BRACKET) break;
      if (code !== COMMA) throw refuse(cursor, 'syntax', 'a comma or a closing bracket is expected here');
      cursor.at += 1;
      cursor.path[level] = array.length;
    }
  }
  leave(cursor);
  return array;
}

function parseObject(cursor: Cursor): JsonObject {
  const object = new MemberMap();
  const level = cursor.depth;
  /** Kept from the first name on that begins with a digit: before it, the engine's order is the text's. */
  let order: string[] | undefined;
  enter(cursor);
  cursor.path[level] = '';
  let code = skipSpace(cursor);
  if (code !== CLOSE_BRACE) {
    for (;;) {
      if (code !== QUOTE) throw refuse(cursor, 'syntax', 'a member name in double quotes is expected here');
      const start = cursor.at;
      const name = parseString(cursor);
      cursor.path[level] = name;
      if (name in object) {
        cursor.at = start;
        throw refuse(cursor, 'duplicate', 'a member name is repeated');
      }
      if (skipSpace(cursor) !== COLON) throw refuse(cursor, 'syntax', 'a colon is expected here');
      cursor.at += 1;
      if (order !== undefined) order.push(name);
      else if (beginsWithDigit(name)) order = [...Object.keys(object), name];
      object[name] = parseValue(cursor);
      code = skipSpace(cursor);
      if (code === CLOSE_BRACE) break;
      if (code !== COMMA) throw refuse(cursor, 'syntax', 'a comma or a closing brace is expected here');
      cursor.at += 1;
      code = skipSpace(cursor);
    }
  }
  leave(cursor);
  if (order !== undefined) keepMemberOrder(object, order);
  return object;
}

function beginsWithDigit(name: string): boolean {
  const code = name.charCodeAt(0);
  return code >= ZERO && code <= NINE;
}

function parseNumber(cursor: Cursor): number | JsonNumber {
  const { text } = cursor;
  const start = cursor.at;
  if (text.charCodeAt(start) === MINUS) cursor.at += 1;
  if (text.charCodeAt(cursor.at) === ZERO) cursor.at += 1;
  else skipDigits(cursor);
  const integerEnd = cursor.at;
  let code = text.charCodeAt(integerEnd);
  if (code === DOT) {
    cursor.at += 1;
    skipDigits(cursor);
    code = text.charCodeAt(cursor.at);
  }
  // `e` or `E`
  if ((code | 0x20) === 0x65) {
    code = text.charCodeAt(++cursor.at);
    if (code === PLUS || code === MINUS) cursor.at += 1;
    skipDigits(cursor);
  }
  const lexeme = text.slice(start, cursor.at);
  const value = Number(lexeme);
  const exact = cursor.at === integerEnd && lexeme.length <= EXACT_LENGTH && value !== 0;
  return exact || String(value) === lexeme ? value : new JsonNumber(lexeme);
}

function skipDigits(cursor: Cursor): void {
  const { text } = cursor;
  const start = cursor.at;
  let at = start;
  let code = text.charCodeAt(at);
  while (code >= ZERO && code <= NINE) code = text.charCodeAt(++at);
  cursor.at = at;
  if (at === start) throw refuse(cursor, 'syntax', 'a digit is expected here');
}
