import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/contract/json.ts';
import { FILTERS } from '../../src/core/expressions/filters.ts';
import { budgetFor, createWorkBudget, ExpressionError, type WorkBudget } from '../../src/core/expressions/limits.ts';
import { JsonNumber } from '../../src/core/json/kind.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';
import { systemRandom } from '../../src/vault/system-random.ts';
import { evaluateExpression, evaluateMask } from './evaluate.ts';

const KIB = 1024;
const TEXT = 'x'.repeat(20 * KIB);
const ITEMS = Array.from({ length: 5000 }, (_, at) => at);
const DIGITS = new JsonNumber(`0.${'1'.repeat(5 * KIB)}`);
const ZEROS = ITEMS.map(() => 0);
const PAIRS = ITEMS.map((at) => [at]);
const MEMBERS = Object.fromEntries(ITEMS.map((at) => [`m${at}`, at]));
const NESTED = Array.from({ length: 60 }).reduce<Json>((inner) => ({ a: inner }), 1);

/** A call of each filter with data for it. */
const CALLS: readonly (readonly [call: string, data: Json])[] = [
  ['reveal_last: 4', TEXT],
  ["reveal: 0, 0, 'X', data", TEXT],
  ['last4', TEXT],
  ["pad_left: 65536, 'x'", TEXT],
  ["pad_right: 65536, 'x'", TEXT],
  ['stringify', [MEMBERS]],
  ['to_string', DIGITS],
  ['to_number', DIGITS.lexeme],
  ['to_boolean', true],
  ["json: '$'", 1],
  ['alias_preserve_format', TEXT],
  ['alias_preserve_length', TEXT],
  ['alias_card', '4242424242424242'],
  ['append: data', TEXT],
  ['prepend: data', TEXT],
  ['upcase', TEXT],
  ['downcase', TEXT],
  ['capitalize', TEXT],
  ['strip', TEXT],
  ['lstrip', TEXT],
  ['rstrip', TEXT],
  ['truncate: 65536', TEXT],
  ['truncatewords', TEXT],
  ["remove: 'y'", TEXT],
  ["remove_first: 'y'", TEXT],
  ["remove_last: 'y'", TEXT],
  ["replace: 'x', 'xx'", TEXT],
  ["replace_first: 'x', 'y'", TEXT],
  ["replace_last: 'x', 'y'", TEXT],
  ["split: ''", 'x'.repeat(10 * KIB)],
  ["join: ''", [[ITEMS]]],
  ['reverse', [[ITEMS]]],
  ['first', TEXT],
  ['last', TEXT],
  ['slice: 0, 65536', TEXT],
  ['size', MEMBERS],
  ['default: data', [[ITEMS]]],
  ['plus: 1', 1],
  ['minus: 1', 1],
  ['times: 0', DIGITS],
  ['divided_by: 2', 1],
  ['modulo: 2', 1],
  ['round', 1.5],
  ['ceil', 1.5],
  ['floor', 1.5],
  ['abs', DIGITS],
  ['at_least: 1', DIGITS],
  ['at_most: 1', DIGITS],
  ['card_bin', '4242424242424242'],
  ['card_mask', '4242424242424242'],
  ['card_exp', MEMBERS],
  ['uniq', [[ITEMS]]],
  ['compact', [[ITEMS]]],
  ['concat: data', [[ITEMS]]],
  ["map: 'a'", [[ITEMS]].map((a) => ({ a }))],
  ['sum', ZEROS],
  ['sort', ITEMS],
  ['base64_encode', TEXT],
  ['base64_decode', Buffer.from(TEXT).toString('base64')],
  ['url_encode', TEXT],
  ['url_decode', TEXT],
  ['escape', TEXT],
];

/** JSONPaths of which one evaluation takes too much work. */
const HEAVY_PATHS: readonly (readonly [name: string, path: string, data: Json])[] = [
  ['a descent in a condition', '$..*[?count($..*) > 9999999]', PAIRS],
  ['descents in a function', '$[?count($..*..*..*) > 9999999]', PAIRS],
  ['12 descents', `$${'..*'.repeat(12)}.zz`, NESTED],
  ['300 descents', `$${'..a'.repeat(300)}`, NESTED],
  ['nested conditions', '$[?$[?$[?$[?@ == 9]]]]', ZEROS],
  ['nested conditions with descents', '$..[?$..[?$..[?@ == 9]]]', NESTED],
  ['the length of a text for each item', '$[?length($[0]) == 1]', [TEXT, ...ZEROS]],
  ['many lengths of one text', `$[?${'length(@) == 1 || '.repeat(50)}@ == 1]`, [TEXT]],
  ['the length of an object for each member', '$[?length($) == 1]', MEMBERS],
  ['900 negations', `$[?${'!'.repeat(900)}(@ == 1)]`, ZEROS],
  ['90 comparisons', `$[?${'@ == 1 || '.repeat(90)}@ == 2]`, ZEROS],
  ['110 descents into scalars', `$[?${'@..* || '.repeat(110)}@ == 2]`, ZEROS],
  ['a long literal', `$[?length('${'x'.repeat(900)}') == 1]`, ZEROS],
  ['a union of absent names', `$..[${"'b', ".repeat(180)}'b']..zz`, ITEMS.map(() => ({}))],
  ['a union of indexes', `$..[${'0, '.repeat(300)}0]..zz`, PAIRS],
  ['a union of slices', `$..[${'::, '.repeat(200)}::]..zz`, PAIRS],
  ['a union of empty slices', `$..[${'9:, '.repeat(200)}9:]..zz`, PAIRS],
  ['comparisons of arrays', '$[?@ == $[0]]', [ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS]],
];

function evaluate(source: string, data: Json): Promise<Json> {
  return evaluateExpression(source, { data });
}

/** Expects an `ExpressionError` within two seconds. */
async function refusedQuickly(result: Promise<unknown>, reason: RegExp): Promise<void> {
  const started = performance.now();
  const error: unknown = await result.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ExpressionError);
  expect(error instanceof ExpressionError ? error.reason : '').toMatch(reason);
  expect(performance.now() - started).toBeLessThan(2000);
}

describe('integers of 1,000 digits', () => {
  const most = new JsonNumber('9'.repeat(1000));

  test('are the longest results', async () => {
    expect(stringifyJson(await evaluate('{{ data | minus: 1 }}', most))).toBe(`${'9'.repeat(999)}8`);
    expect(stringifyJson(await evaluate('{{ data | times: -1 }}', most))).toBe(`-${'9'.repeat(1000)}`);
    await refusedQuickly(evaluate('{{ data | plus: 1 }}', most), /more than 1000 digits/);
    await refusedQuickly(evaluate('{{ 0 | minus: data | minus: 1 }}', most), /more than 1000 digits/);
    await refusedQuickly(evaluate('{{ data | times: data }}', most), /more than 1000 digits/);
    await refusedQuickly(evaluate('{{ data | sum | plus: 1 }}', [most]), /more than 1000 digits/);
  });

  test('do not limit operands', async () => {
    const long = (digit: string, length: number) => new JsonNumber(digit.repeat(length));
    expect(await evaluate('{{ data | modulo: 1000 }}', long('7', 1001))).toBe(777);
    expect(await evaluate('{{ data | modulo: 10 }}', '7'.repeat(300 * KIB))).toBe(7);
    expect(await evaluate('{{ data[0] | minus: data[1] }}', [long('7', 5000), long('7', 5000)])).toBe(0);
    expect(await evaluate('{{ data[0] | divided_by: data[1] }}', [long('7', 5000), long('7', 5000)])).toBe(1);
    expect(await evaluate('{{ data | times: 0 }}', long('7', 2000))).toBe(0);
    expect(await evaluate('{{ data | at_most: 1.5 }}', long('7', 2000))).toBe(1.5);
    expect(await evaluate('{{ data | sum | modulo: 1000 }}', [long('7', 999), long('2', 999)])).toBe(999);
    expect(await evaluate('{{ data | sum }}', [long('7', 5000), new JsonNumber(`-${'7'.repeat(4999)}6`)])).toBe(1);
  });

  test('cost steps by the digits', async () => {
    const long = new JsonNumber('7'.repeat(600 * KIB));
    const mask = ['{{ data | modulo: 10 }}', '{{ data | modulo: 10 }}'];
    await refusedQuickly(evaluateMask(mask, { data: long }), /takes too much work/);
    const oneLong = [new JsonNumber('7'.repeat(200 * KIB)), ...Array.from({ length: 200 * KIB }, () => 0)];
    await refusedQuickly(evaluate('{{ data | sum }}', oneLong), /takes too much work/);
    const many = Array.from({ length: 2_000 }, () => most);
    await refusedQuickly(evaluate('{{ data | sort }}', many), /too much work|64 KiB/);
  });
});

describe('1 KiB per expression', () => {
  test('counts bytes', async () => {
    const filler = 'a'.repeat(KIB - '{{ data }}'.length);
    expect(await evaluate(`{{ data }}${filler}`, 'x')).toBe(`x${filler}`);
    await refusedQuickly(evaluate(`{{ data }}${filler}a`, 'x'), /1 KiB/);
    await refusedQuickly(evaluate(`{{ data }}${'é'.repeat(filler.length / 2 + 1)}`, 'x'), /1 KiB/);
    await refusedQuickly(evaluateMask({ a: `{{ data }}${filler}a` }, { data: 'x' }), /1 KiB/);
  });

  test('does not apply to constants of a mask', async () => {
    const text = 'a'.repeat(2 * KIB);
    expect(await evaluateMask(text, { data: 'x' })).toBe(text);
  });
});

describe('64 KiB of output', () => {
  const most = 'x'.repeat(64 * KIB);

  test('counts bytes, also of unchanged values', async () => {
    expect(await evaluate('{{ data }}', most)).toBe(most);
    await refusedQuickly(evaluate('{{ data }}', `${most}x`), /64 KiB/);
    await refusedQuickly(evaluate('{{ data }}', 'é'.repeat(32 * KIB + 1)), /64 KiB/);
    await refusedQuickly(evaluate('{{ data }}', [most]), /64 KiB/);
    await refusedQuickly(evaluate('{{ data }}!', most), /64 KiB/);
    await refusedQuickly(evaluate('{{ data }}{{ data }}', most), /64 KiB/);
  });

  test('applies after every filter', async () => {
    await refusedQuickly(evaluate("{{ data | append: 'x' | last4 }}", most), /append returns more than 64 KiB/);
    expect(await evaluate('{{ data | last4 }}', `${most}abcd`)).toBe('abcd');
  });

  test('applies before a longer text is built', async () => {
    const data = { many: 'a'.repeat(60 * KIB), long: 'b'.repeat(900 * KIB) };
    await refusedQuickly(evaluate("{{ data.many | replace: 'a', data.long }}", data), /64 KiB/);
    await refusedQuickly(evaluate("{{ data.many | split: '' | join: data.long }}", data), /64 KiB/);
    await refusedQuickly(evaluate("{{ data | pad_left: 65536, '\u{1f600}' }}", 'x'), /64 KiB/);
  });

  test('applies to all expressions of a mask together', async () => {
    const mask = Array.from({ length: 3 }, () => '{{ data }}');
    expect(await evaluateMask(mask, { data: 'x'.repeat(21 * KIB) })).toHaveLength(3);
    await refusedQuickly(evaluateMask(mask, { data: 'x'.repeat(22 * KIB) }), /64 KiB in total/);
  });
});

describe('the limit on work', () => {
  test('ends a chain of filters over a long text', async () => {
    const chain = ' | upcase | downcase'.repeat(45);
    await refusedQuickly(evaluate(`{{ data${chain} }}`, 'x'.repeat(60 * KIB)), /takes too much work/);
  });

  test('ends a search that compares everywhere', async () => {
    const data = { text: 'a'.repeat(1000 * KIB), search: `${'a'.repeat(1000)}b` };
    await refusedQuickly(evaluate('{{ data.text | remove: data.search }}', data), /takes too much work/);
    await refusedQuickly(evaluate('{{ data.text | split: data.search }}', data), /takes too much work/);
  });

  test('ends a mask with very many expressions', async () => {
    const mask = Array.from({ length: 70_000 }, (_, at) => `{{data.m${at}}}`);
    await refusedQuickly(evaluateMask(mask, { data: {} }), /too many expressions/);
  });

  test('ends a mask whose expressions each read all of the data', async () => {
    const mask = (source: string) => Array.from({ length: 1000 }, () => source);
    const text = 'x'.repeat(300 * KIB);
    const members = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`m${at}`, at]));
    for (const [source, data] of [
      ['{{ data.size }}', text],
      ["{{ 'a' | reveal: 0, 0, 'X', data }}", text],
      ["{{ 'abc' | slice: data.size }}", text],
      ['{{ data | size }}', members],
      ['{{ data | times: 0 }}', new JsonNumber(`0.${'1'.repeat(300 * KIB)}`)],
    ] as const) {
      await refusedQuickly(evaluateMask(mask(source), { data }), /takes too much work/);
    }
  });

  test('is shared by the expressions that have the same budget', async () => {
    const work = createWorkBudget(64 * KIB);
    const source = `{{ data${' | upcase'.repeat(30)} }}`;
    const scope = { data: 'x'.repeat(4 * KIB) };
    await evaluateExpression(source, scope, { work });
    await refusedQuickly(evaluateExpression(source, scope, { work }), /takes too much work/);
    await refusedQuickly(evaluateMask(source, scope, { work }), /too much work|too many/);
  });

  test.each([
    ['brackets', `{{ data${'['.repeat(1000)} }}`],
    ['ranges', `{{ ${'('.repeat(1000)} }}`],
    ['paths', `{{ ${'data['.repeat(200)} }}`],
    ['openings', '{{'.repeat(500)],
    ['pipes', `{{ data ${'|'.repeat(1000)} }}`],
    ['quotes', `{{ ${"'".repeat(999)} }}`],
    ['JSONPath parentheses', `{{ data | json: '$[?${'('.repeat(900)}' }}`],
    ['JSONPath negations', `{{ data | json: '$[?${'!'.repeat(900)}@.a]' }}`],
  ])('nested %s are rejected', async (_name, source) => {
    await refusedQuickly(evaluate(source, {}), /./);
  });

  test('expressions keep their meaning when there are more than the cache holds', async () => {
    for (const round of [1, 2]) {
      for (let at = 0; at < 1500; at++) expect(await evaluate(`{{ ${at} }}`, round)).toBe(at);
    }
  });

  test('has a case of each filter', () => {
    expect(CALLS.map(([call]) => /^\w+/.exec(call)?.[0]).toSorted()).toEqual(Object.keys(FILTERS).toSorted());
  });

  test.each(CALLS)('ends repeated calls of %s', async (call, data) => {
    // So few calls on long data end only when its length counts.
    const times = stringifyJson(data).length > KIB ? 100 : 2000;
    const ends = async () => {
      const work = countedBudget(data);
      const scope = { data };
      const options = { work, random: systemRandom };
      const repeat = async () => {
        for (let left = times; left > 0; left--) await evaluateExpression(`{{ data | ${call} }}`, scope, options);
      };
      await refusedQuickly(repeat(), /takes too much work/);
      return work.spent();
    };
    expect(await ends()).toBeGreaterThan(64 * KIB);
  });

  test.each(HEAVY_PATHS)('ends a JSONPath with %s after the same steps each time', async (_name, path, data) => {
    const source = `{{ data | json: "${path}" }}`;
    const ends = async () => {
      const work = countedBudget(data);
      await refusedQuickly(evaluateExpression(source, { data }, { work }), /json takes too much work/);
      return work.spent();
    };
    const steps = await ends();
    expect(await ends()).toBe(steps);
  });

  test('ends a step of a JSONPath with more nodes than the stack holds', async () => {
    const data = { filler: 'x'.repeat(3000 * KIB), many: Array.from({ length: 200_000 }, () => 1) };
    await refusedQuickly(evaluate("{{ data | json: '$[?count($.many[*]) > 9]' }}", data), /too much work/);
  });

  test('grows by four steps for each byte of the data', () => {
    const steps = (dataText: string) => {
      const budget = budgetFor(dataText);
      let spent = 0;
      for (; ; spent++) {
        try {
          budget.spend(1);
        } catch {
          return spent;
        }
      }
    };
    expect(['1', '"é"'].map(steps)).toEqual([64 * KIB + 4, 64 * KIB + 16]);
  });
});

/** Returns the budget for the data, which also counts what is spent. */
function countedBudget(data: Json): WorkBudget & { spent(): number } {
  const budget = budgetFor(stringifyJson(data));
  let spent = 0;
  return {
    spend(steps) {
      spent += steps;
      budget.spend(steps);
    },
    spent: () => spent,
  };
}
