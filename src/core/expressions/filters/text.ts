import { defineFilter } from '../filter.ts';

/** Liquid's filters of one text. */
export const TEXT_FILTERS = {
  append: defineFilter({
    input: 'liquid_text_or_null',
    parameters: { suffix: { kind: 'text' } },
    apply: (text, { suffix }) => text + suffix,
  }),
  prepend: defineFilter({
    input: 'liquid_text_or_null',
    parameters: { prefix: { kind: 'text' } },
    apply: (text, { prefix }) => prefix + text,
  }),
  upcase: defineFilter({ input: 'liquid_text', apply: (text) => text.toUpperCase() }),
  downcase: defineFilter({ input: 'liquid_text', apply: (text) => text.toLowerCase() }),
  capitalize: defineFilter({
    input: 'liquid_text',
    apply: (text) => {
      const [first = ''] = text;
      return first.toUpperCase() + text.slice(first.length).toLowerCase();
    },
  }),
  strip: defineFilter({ input: 'liquid_text', apply: (text) => text.trim() }),
  lstrip: defineFilter({ input: 'liquid_text', apply: (text) => text.trimStart() }),
  rstrip: defineFilter({ input: 'liquid_text', apply: (text) => text.trimEnd() }),
  /** `length` counts the ellipsis. */
  truncate: defineFilter({
    input: 'liquid_text',
    parameters: { length: { kind: 'count', fallback: 50 }, ellipsis: { kind: 'text', fallback: '...' } },
    apply: (text, { length, ellipsis }) => {
      const characters = [...text];
      if (characters.length <= length) return text;
      return characters.slice(0, Math.max(0, length - [...ellipsis].length)).join('') + ellipsis;
    },
  }),
  truncatewords: defineFilter({
    input: 'liquid_text',
    parameters: { words: { kind: 'word_count', fallback: 15 }, ellipsis: { kind: 'text', fallback: '...' } },
    apply: (text, { words, ellipsis }) => {
      const all = text.trim().split(/\s+/);
      return all.length <= words ? text : all.slice(0, words).join(' ') + ellipsis;
    },
  }),
};
