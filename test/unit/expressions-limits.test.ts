import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/contract/json.ts';
import { ExpressionError } from '../../src/core/expressions/expression-error.ts';
import { createWorkBudget } from '../../src/core/expressions/limits.ts';
import { JsonNumber } from '../../src/core/json/kind.ts';
import { evaluateExpression, evaluateMask } from './evaluate.ts';

const KIB = 1024;

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

  test('ends a JSONPath of quadratic or cubic work', async () => {
    const data = Array.from({ length: 2000 }, (_, at) => [at]);
    for (const path of ['$..*[?count($..*) > 9999999]', '$[?count($..*..*..*) > 9999999]', '$[?@ == $[?@ == 1]]']) {
      await refusedQuickly(evaluate(`{{ data | json: '${path}' }}`, data), /takes too much work|valid JSONPath/);
    }
    let nested: Json = 1;
    for (let depth = 0; depth < 60; depth++) nested = { a: nested };
    await refusedQuickly(evaluate(`{{ data | json: '$${'..*'.repeat(12)}.zz' }}`, nested), /takes too much work/);
  });

  test('ends a mask with very many expressions', async () => {
    const mask = Array.from({ length: 70_000 }, (_, at) => `{{data.m${at}}}`);
    await refusedQuickly(evaluateMask(mask, { data: {} }), /too many expressions/);
  });

  test('ends a mask whose expressions each read all of the data', async () => {
    const mask = (source: string) => Array.from({ length: 1000 }, () => source);
    const text = 'x'.repeat(300 * KIB);
    const members = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`m${at}`, at]));
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

  test('ends a JSONPath that reads long texts, large objects or a long condition at each step', async () => {
    const zeros = Array.from({ length: 20_000 }, () => 0);
    const members = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`m${at}`, at]));
    for (const [path, data] of [
      ['$[?length($[0]) == 1]', ['x'.repeat(100 * KIB), ...zeros]],
      ['$[?length($) == 1]', members],
      [`$[?${'!'.repeat(900)}(@ == 1)]`, zeros],
      [`$[?length('${'x'.repeat(900)}') == 1]`, zeros],
    ] as const) {
      await refusedQuickly(evaluate(`{{ data | json: "${path}" }}`, data), /takes too much work/);
    }
  });

  test('is shared by the expressions that have the same budget', async () => {
    const work = createWorkBudget();
    const source = `{{ data${' | upcase'.repeat(30)} }}`;
    const scope = { data: 'x'.repeat(40 * KIB) };
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
});
