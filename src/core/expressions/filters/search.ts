import { defineFilter, type FilterTools } from '../filter.ts';
import { assertOutput } from '../limits.ts';

const search = { kind: 'pattern' } as const;
const replacement = { kind: 'text' } as const;

/** A search may compare many characters at every place of the text. */
function spendSearch(text: string, pattern: string, tools: FilterTools): void {
  tools.spend(text.length * Math.ceil(pattern.length / 16));
}

function replaceAll(text: string, pattern: string, by: string, tools: FilterTools): string {
  spendSearch(text, pattern, tools);
  const parts = text.split(pattern);
  assertOutput(text.length + (parts.length - 1) * (by.length - pattern.length));
  return parts.join(by);
}

/** The text around the place that `at` names is kept as it is: `$&` in `by` means nothing. */
function replaceAt(text: string, at: number, pattern: string, by: string): string {
  return at < 0 ? text : text.slice(0, at) + by + text.slice(at + pattern.length);
}

function replaceFirst(text: string, pattern: string, by: string, tools: FilterTools): string {
  spendSearch(text, pattern, tools);
  return replaceAt(text, text.indexOf(pattern), pattern, by);
}

function replaceLast(text: string, pattern: string, by: string, tools: FilterTools): string {
  spendSearch(text, pattern, tools);
  return replaceAt(text, text.lastIndexOf(pattern), pattern, by);
}

/** Liquid's filters that look for a text: the text itself, never a regular expression. */
export const SEARCH_FILTERS = {
  remove: defineFilter({
    input: 'liquid_text',
    parameters: { search },
    apply: (text, args, tools) => replaceAll(text, args.search, '', tools),
  }),
  remove_first: defineFilter({
    input: 'liquid_text',
    parameters: { search },
    apply: (text, args, tools) => replaceFirst(text, args.search, '', tools),
  }),
  remove_last: defineFilter({
    input: 'liquid_text',
    parameters: { search },
    apply: (text, args, tools) => replaceLast(text, args.search, '', tools),
  }),
  replace: defineFilter({
    input: 'liquid_text',
    parameters: { search, replacement },
    apply: (text, args, tools) => replaceAll(text, args.search, args.replacement, tools),
  }),
  replace_first: defineFilter({
    input: 'liquid_text',
    parameters: { search, replacement },
    apply: (text, args, tools) => replaceFirst(text, args.search, args.replacement, tools),
  }),
  replace_last: defineFilter({
    input: 'liquid_text',
    parameters: { search, replacement },
    apply: (text, args, tools) => replaceLast(text, args.search, args.replacement, tools),
  }),
};
