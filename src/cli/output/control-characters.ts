/**
 * Returns an expression for control characters (C0, DEL, C1, with tabs and line ends), line separators, and marks that
 * reorder text. They can control a terminal, or forge or disguise a line. A constant would cost every start the time to
 * parse the Unicode class.
 */
const control = () => /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Returns a line that is safe on a terminal: tabs and line ends become spaces, other control characters vanish. */
export function stripControlCharacters(text: string): string {
  return text.replace(control(), (character) => (/[\t\n\r]/.test(character) ? ' ' : ''));
}

/** Removes control characters from text of several lines. Keeps line feeds and tabs. */
export function stripFromLines(text: string): string {
  return text.replace(control(), (character) => (/[\t\n]/.test(character) ? character : ''));
}

/** Escapes control characters in JSON text except line feeds. Keeps the value: the characters are in strings. */
export function escapeInJson(text: string): string {
  return text.replace(control(), (character) => {
    if (character === '\n') return character;
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
