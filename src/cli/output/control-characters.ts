/**
 * C0, DEL, C1, the line separators, and marks that reorder text. They can drive a terminal, forge a line, or disguise
 * one. Tabs and line ends count, too.
 */
const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns one line of text that is safe on a terminal: tabs and line ends become spaces, other control characters are
 * removed.
 */
export function stripControlCharacters(text: string): string {
  return text.replace(CONTROL, (character) => (/[\t\n\r]/.test(character) ? ' ' : ''));
}

/** Like `controlFree` for text of several lines: keeps line feeds and tabs. */
export function stripFromLines(text: string): string {
  return text.replace(CONTROL, (character) => (/[\t\n]/.test(character) ? character : ''));
}

/** In JSON text such a character is always in a string, so an escape keeps the value. */
export function escapeInJson(text: string): string {
  return text.replace(CONTROL, (character) => {
    if (character === '\n') return character;
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
