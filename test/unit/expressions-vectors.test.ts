import { describe, expect, test } from 'vitest';
import { ExpressionError } from '../../src/core/expressions/expression-error.ts';
import { FILTERS } from '../../src/core/expressions/filters.ts';
import { loadExpressions } from '../../src/core/expressions/load-expressions.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';
import { readVectors } from '../vectors/read-vectors.ts';

interface Case {
  readonly origin: 'spec' | 'decisions' | 'rfc9535' | 'liquid' | 'here';
  /** Either this or `mask`. */
  readonly expression?: string;
  /** JSON text, as `data` and `result` are. */
  readonly mask?: string;
  readonly data: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly result?: string;
  readonly error?: { readonly reason: string; readonly position: number; readonly path: string };
}

const { cases } = readVectors<{ readonly cases: readonly Case[] }>('expressions');
const expressions = await loadExpressions();

async function run(one: Case): Promise<string | undefined> {
  const scope = { data: parseJson(one.data), metadata: one.metadata };
  const value =
    one.mask === undefined
      ? await expressions.evaluate(one.expression ?? '', scope)
      : await expressions.evaluateMask(parseJson(one.mask), scope);
  return value === undefined ? undefined : stringifyJson(value);
}

describe('expression vectors', () => {
  test.each(cases.map((one) => [one.expression ?? one.mask, one.data.slice(0, 60), one] as const))(
    '%s of %s',
    async (_expression, _data, one) => {
      if (one.error === undefined) {
        expect(await run(one)).toBe(one.result);
        return;
      }
      const error: unknown = await run(one).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ExpressionError);
      expect(error).toMatchObject(one.error);
    },
  );

  test('there are enough of them, and each says where it comes from', () => {
    expect(cases.length).toBeGreaterThanOrEqual(120);
    for (const one of cases) expect(['spec', 'decisions', 'rfc9535', 'liquid', 'here']).toContain(one.origin);
  });

  test.each(Object.keys(FILTERS))('%s is among them, with a result and with an error', (name) => {
    const uses = cases.filter((one) => new RegExp(`\\|\\s*${name}\\b`).test(one.expression ?? one.mask ?? ''));
    expect(uses.some((one) => one.result !== undefined) || FILTERS[name]?.random).toBe(true);
    expect(uses.some((one) => one.error !== undefined)).toBe(true);
  });
});
