import type { Json, JsonArray, JsonObject } from '../../contract/json.ts';
import { JsonNumber, keepMemberOrder, MemberMap } from './kind.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
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

const LOWER_U = 0x75;
const FOUR_HEX_DIGITS = /^[0-9A-Fa-f]{4}$/;

/** The code unit after a backslash, and the character that the escape represents (RFC 8259 §7). */
const ESCAPES: ReadonlyMap<number, string> = new Map([
  [QUOTE, '"'],
  [BACKSLASH, '\\'],
  [0x2f, '/'],
  [0x62, '\b'],
  [0x66, '\f'],
  [0x6e, '\n'],
  [0x72, '\r'],
  [0x74, '\t'],
]);

const LITERALS: ReadonlyMap<number, readonly [text: string, value: boolean | null]> = new Map([
  [0x74, ['true', true]],
  [0x66, ['false', false]],
  [0x6e, ['null', null]],
]);

/** The maximum length of an integer that is exact in a double and prints unchanged. */
const EXACT_LENGTH = 15;

/**
 * The default depth limit. It exceeds the depth of anything that the vault stores or returns (`MAX_DEPTH`), so accepted
 * values stay readable if that limit changes.
 */
const DEFAULT_DEPTH = 1024;

/** The state of the parser. `path[i]` is the name of the value at depth `i`. */
interface Cursor {
  readonly text: string;
  readonly maxDepth: number;
  readonly path: (string | number)[];
  at: number;
  depth: number;
}

/**
 * Parses JSON (RFC 8259, strictly) without loss: keeps number lexemes, lone surrogates and the order of members;
 * `__proto__` is a plain member. Rejects a repeated member name, because readers treat it differently (RFC 8259 §4).
 * `maxDepth` limits the nesting of arrays and objects. Throws `JsonSyntaxError`.
 */
export function parseJson(text: string, options: { readonly maxDepth?: number } = {}): Json {
  const cursor: Cursor = { text, maxDepth: options.maxDepth ?? DEFAULT_DEPTH, path: [], at: 0, depth: 0 };
  const value = parseValue(cursor);
  skipSpace(cursor);
  if (cursor.at < text.length) throw refuse(cursor, 'syntax', 'unexpected text after the value');
  return value;
}

/** Skips white space. Returns the next code unit, or NaN, which equals nothing, at the end of the text. */
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
    throw refuse(cursor, 'syntax', 'expected a value');
  }
  cursor.at += literal[0].length;
  return literal[1];
}

function enter(cursor: Cursor): void {
  if (cursor.depth >= cursor.maxDepth) throw refuse(cursor, 'depth', `nested more than ${cursor.maxDepth} levels deep`);
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
      if (code !== COMMA) throw refuse(cursor, 'syntax', 'expected a comma or a closing bracket');
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
  /**
   * The order of the members, kept from the first name that begins with a digit. Before such a name, the engine keeps
   * the order of the text.
   */
  let order: string[] | undefined;
  enter(cursor);
  cursor.path[level] = '';
  let code = skipSpace(cursor);
  if (code !== CLOSE_BRACE) {
    for (;;) {
      if (code !== QUOTE) throw refuse(cursor, 'syntax', 'expected a member name in double quotes');
      const start = cursor.at;
      const name = parseString(cursor);
      cursor.path[level] = name;
      if (name in object) {
        cursor.at = start;
        throw refuse(cursor, 'duplicate', 'a member name is repeated');
      }
      if (skipSpace(cursor) !== COLON) throw refuse(cursor, 'syntax', 'expected a colon');
      cursor.at += 1;
      if (order !== undefined) order.push(name);
      else if (name >= '0' && name < ':') order = [...Object.keys(object), name];
      object[name] = parseValue(cursor);
      code = skipSpace(cursor);
      if (code === CLOSE_BRACE) break;
      if (code !== COMMA) throw refuse(cursor, 'syntax', 'expected a comma or a closing brace');
      cursor.at += 1;
      code = skipSpace(cursor);
    }
  }
  leave(cursor);
  if (order !== undefined) keepMemberOrder(object, order);
  return object;
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
  if (at === start) throw refuse(cursor, 'syntax', 'expected a digit');
}

/** Reads the string whose opening quote is at the cursor, and stops after its closing quote. */
function parseString(cursor: Cursor): string {
  const { text } = cursor;
  let from = cursor.at + 1;
  let at = from;
  let decoded = '';
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      cursor.at = at + 1;
      return decoded === '' ? text.slice(from, at) : decoded + text.slice(from, at);
    }
    if (code === BACKSLASH) {
      decoded += text.slice(from, at);
      cursor.at = at + 1;
      decoded += parseEscape(cursor);
      from = cursor.at;
      at = from;
    } else if (code >= 0x20) {
      at += 1;
    } else {
      // A control character, or NaN at the end of the text.
      cursor.at = at;
      throw refuse(cursor, 'syntax', 'a control character in a string must be escaped');
    }
  }
}

/**
 * Decodes the escape after a backslash. Half of a surrogate pair is an ordinary code unit: two halves in a row form a
 * character, and a single half stays.
 */
function parseEscape(cursor: Cursor): string {
  const code = cursor.text.charCodeAt(cursor.at);
  if (code === LOWER_U) {
    const digits = cursor.text.slice(cursor.at + 1, cursor.at + 5);
    if (!FOUR_HEX_DIGITS.test(digits)) throw refuse(cursor, 'syntax', 'four hexadecimal digits must follow \\u');
    cursor.at += 5;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }
  const character = ESCAPES.get(code);
  if (character === undefined) throw refuse(cursor, 'syntax', 'unknown escape sequence');
  cursor.at += 1;
  return character;
}

/** Returns the error at the cursor's position. `reason` is a fixed text. */
function refuse(cursor: Cursor, kind: JsonSyntaxErrorKind, reason: string): JsonSyntaxError {
  const ended = kind === 'syntax' && cursor.at >= cursor.text.length;
  const path = cursor.path.slice(0, cursor.depth).join('.');
  return new JsonSyntaxError(kind, ended ? 'the text ends too early' : reason, cursor.at, path);
}

/**
 * The kinds of syntax errors. `syntax`: the text is not JSON. `depth`: the nesting exceeds the limit. `duplicate`: an
 * object repeats a member name.
 */
export type JsonSyntaxErrorKind = 'syntax' | 'depth' | 'duplicate';

/** The error for a text that is not acceptable JSON. It quotes no value of the text, so the caller may see it. */
export class JsonSyntaxError extends Error {
  readonly kind: JsonSyntaxErrorKind;
  /** A fixed text; only the text of `depth` contains a number, the limit. */
  readonly reason: string;
  /** The offset of the error in UTF-16 code units, from 0. */
  readonly position: number;
  /** The dotted path of member names and array positions to the error, such as `data.0.number`; empty at the top. */
  readonly path: string;

  constructor(kind: JsonSyntaxErrorKind, reason: string, position: number, path: string) {
    super(`${reason} (character ${position})`);
    this.name = 'JsonSyntaxError';
    this.kind = kind;
    this.reason = reason;
    this.position = position;
    this.path = path;
  }
}
