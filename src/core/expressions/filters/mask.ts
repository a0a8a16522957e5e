import { defineFilter } from '../filter.ts';

const parameters = { length: { kind: 'count' }, pad_char: { kind: 'character' } } as const;

function padding(text: string, length: number, character: string): string {
  return character.repeat(Math.max(0, length - [...text].length));
}

/**
 * The filters that hide a part of a value. Positions and lengths count characters (code points), so no surrogate pair
 * is ever split.
 */
export const MASK_FILTERS = {
  /** Masks all characters except the last ones. A `-` stays, as in `XXX-XX-6789`. */
  reveal_last: defineFilter({
    input: 'text',
    parameters: { length: { kind: 'count' }, mask_char: { kind: 'character', fallback: 'X' } },
    apply: (text, { length, mask_char }) => {
      const characters = [...text];
      const hidden = characters.length - length;
      return characters.map((character, at) => (at < hidden && character !== '-' ? mask_char : character)).join('');
    },
  }),
  /**
   * Masks all characters except the ends. Masks everything when nothing would be masked, so that a short value does not
   * appear whole.
   */
  reveal: defineFilter({
    input: 'text',
    parameters: {
      first: { kind: 'count', fallback: 0 },
      last: { kind: 'count', fallback: 0 },
      mask_char: { kind: 'character', fallback: 'X' },
      preserve_chars: { kind: 'text', fallback: '' },
    },
    apply: (text, { first, last, mask_char, preserve_chars }) => {
      const characters = [...text];
      const preserved = new Set(preserve_chars);
      const end = characters.length - last;
      const hides = (character: string, at: number) => at >= first && at < end && !preserved.has(character);
      const all = !characters.some(hides);
      return characters.map((character, at) => (all || hides(character, at) ? mask_char : character)).join('');
    },
  }),
  last4: defineFilter({ input: 'text', apply: (text) => [...text].slice(-4).join('') }),
  // Both filters pad a text to `length` characters and never shorten it.
  pad_left: defineFilter({
    input: 'text',
    parameters,
    apply: (text, { length, pad_char }) => padding(text, length, pad_char) + text,
  }),
  pad_right: defineFilter({
    input: 'text',
    parameters,
    apply: (text, { length, pad_char }) => text + padding(text, length, pad_char),
  }),
};
