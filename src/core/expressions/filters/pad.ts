import { defineFilter } from '../filter.ts';

const parameters = { length: { kind: 'count' }, pad_char: { kind: 'character' } } as const;

function padding(text: string, length: number, character: string): string {
  return character.repeat(Math.max(0, length - [...text].length));
}

/** Both fill up to `length` characters and never cut. */
export const PAD_FILTERS = {
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
