import { describe, expect, it, test } from 'vitest';
import { filterHelp } from '../../src/cli/help/filter-help.ts';
import { FILTER_EXAMPLES } from '../../src/contract/filter-examples.ts';
import { FILTERS } from '../../src/core/expressions/filters.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';
import { systemRandom } from '../../src/vault/system-random.ts';
import { evaluateExpression } from './evaluate.ts';

const EXAMPLES = Object.entries(FILTER_EXAMPLES);

describe('the documented filters', () => {
  it('are those of the language', () => {
    expect(EXAMPLES.map(([name]) => name).toSorted()).toEqual(Object.keys(FILTERS).toSorted());
  });

  it.each(EXAMPLES)('%s returns what its example shows', async (name, [summary, call, data, result]) => {
    expect(call.split(':')[0]).toBe(name);
    expect(summary.length).toBeLessThanOrEqual(72);
    const options = FILTERS[name]?.random ? { random: systemRandom } : {};
    const value = await evaluateExpression(`{{ data | ${call} }}`, { data: parseJson(data) }, options);
    if (result.startsWith('/')) expect(stringifyJson(value)).toMatch(new RegExp(result.slice(1, -1)));
    else expect(stringifyJson(value)).toBe(result);
  });
});

test('vault help filters fits 100 columns and names each filter with its arguments', () => {
  const lines = filterHelp().split('\n');
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
  expect(lines).toContain("  reveal_last: length, mask_char='X'");
  expect(lines).toContain('      "123-45-6789" | reveal_last: 4 → "XXX-XX-6789"');
  expect(lines.filter((line) => /^ {2}\w/.test(line))).toHaveLength(Object.keys(FILTERS).length);
});
