/**
 * C0, DEL, C1, the line separators, and the marks that reorder text: what could drive a terminal, forge a line, or make a
 * line read as another. Tabs and line ends count too.
 */
const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** One line of text that is safe on a terminal: tabs and line ends become spaces, all other control characters go. */
export function stripControlCharacters(text: string): string {
  return text.replace(CONTROL, (character) => (/[\t\n\r]/.test(character) ? ' ' : ''));
}

/** The same for text of several lines: line feeds and tabs stay. */
export function stripFromLines(text: string): string {
  return text.replace(CONTROL, (character) => (/[\t\n]/.test(character) ? character : ''));
}

/** In JSON text such a character is always in a string: escaping it keeps the value. */
export function escapeInJson(text: string): string {
  return text.replace(CONTROL, (character) => {
    if (character === '\n') return character;
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
