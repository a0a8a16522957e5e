import { type Cursor, refuse } from './json-syntax-error.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const FOUR_HEX_DIGITS = /^[0-9A-Fa-f]{4}$/;

/** RFC 8259 §7: the code unit after the backslash, and what the two stand for. */
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

/** Reads the string whose opening quote the cursor stands at, and stops behind its closing one. */
export function parseString(cursor: Cursor): string {
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
      // a control character, or NaN: the end
      cursor.at = at;
      throw refuse(cursor, 'syntax', 'a control character in a string must be escaped');
    }
  }
}

/** Half of a surrogate pair is a code unit like any other: two halves in a row make their character, one alone stays. */
function parseEscape(cursor: Cursor): string {
  const code = cursor.text.charCodeAt(cursor.at);
  if (code === LOWER_U) {
    const digits = cursor.text.slice(cursor.at + 1, cursor.at + 5);
    if (!FOUR_HEX_DIGITS.test(digits)) throw refuse(cursor, 'syntax', 'four hexadecimal digits must follow \\u');
    cursor.at += 5;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }
  const character = ESCAPES.get(code);
  if (character === undefined) throw refuse(cursor, 'syntax', 'this is no escape that JSON has');
  cursor.at += 1;
  return character;
}
