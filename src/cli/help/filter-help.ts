import { FILTER_EXAMPLES } from '../../contract/filter-examples.ts';
import { signatureOf } from '../../core/expressions/filter.ts';
import { FILTERS } from '../../core/expressions/filters.ts';

/** Returns the text of `vault help filters`. */
export function filterHelp(): string {
  const entries = Object.entries(FILTERS).map(([name, filter]) => {
    const [summary, call, data, result] = FILTER_EXAMPLES[name] ?? [];
    const shown = result?.startsWith('/') ? 'random' : result;
    return `  ${signatureOf(name, filter)}\n      ${summary}\n      ${data} | ${call} → ${shown}`;
  });
  return `Filters of expressions, as in {{ data | reveal_last: 4 }}. An argument with = has a default.
A backslash in a quoted argument escapes the next character: '\\'' is a quote, '\\n' a line break.
Card numbers may have blanks and dashes between their digits; card_mask and alias_card keep them.

${entries.join('\n')}
`;
}
