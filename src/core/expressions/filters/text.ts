import { defineFilter, type Filter, type FilterTools } from '../filter.ts';
import { assertOutput, stepsOfText } from '../limits.ts';

const search = { kind: 'pattern' } as const;
const replacement = { kind: 'text' } as const;

/**
 * Returns `text` with `pattern` replaced by `by`. `pattern` is a literal text, never a regular expression, and `$&` in
 * `by` has no special meaning.
 */
type Replace = (text: string, pattern: string, by: string, tools: FilterTools) => string;

const replaceAll: Replace = (text, pattern, by, tools) => {
  spendSearch(text, pattern, tools);
  const parts = text.split(pattern);
  assertOutput(text.length + (parts.length - 1) * (by.length - pattern.length));
  return parts.join(by);
};

function replaceOne(find: 'indexOf' | 'lastIndexOf'): Replace {
  return (text, pattern, by, tools) => {
    spendSearch(text, pattern, tools);
    const at = text[find](pattern);
    return at < 0 ? text : text.slice(0, at) + by + text.slice(at + pattern.length);
  };
}

/** Spends the work of a search, which may compare many characters at each position of the text. */
function spendSearch(text: string, pattern: string, tools: FilterTools): void {
  tools.spend(stepsOfText(text) * Math.ceil(pattern.length / 16));
}

function removing(replace: Replace): Filter {
  return defineFilter({
    input: 'liquid_text',
    parameters: { search },
    apply: (text, args, tools) => replace(text, args.search, '', tools),
  });
}

function replacing(replace: Replace): Filter {
  return defineFilter({
    input: 'liquid_text',
    parameters: { search, replacement },
    apply: (text, args, tools) => replace(text, args.search, args.replacement, tools),
  });
}

/** The Liquid filters for one text. */
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
  /** Shortens a text to `length` characters, including the ellipsis. */
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
  remove: removing(replaceAll),
  remove_first: removing(replaceOne('indexOf')),
  remove_last: removing(replaceOne('lastIndexOf')),
  replace: replacing(replaceAll),
  replace_first: replacing(replaceOne('indexOf')),
  replace_last: replacing(replaceOne('lastIndexOf')),
};
