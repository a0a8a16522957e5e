import { describe, expect, test } from 'vitest';
import { FILTERS } from '../../src/core/expressions/filters.ts';
import { ExpressionError } from '../../src/core/expressions/limits.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';
import { readTable } from '../vectors/read-vectors.ts';
import { evaluateExpression, evaluateMask } from './evaluate.ts';

interface Case {
  readonly origin: string;
  /** A vector has this or `mask`. */
  readonly expression?: string;
  /** JSON text, like `data` and `result`. */
  readonly mask?: string;
  readonly data: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly result?: string;
  readonly error?: { readonly reason: string; readonly position: number; readonly path: string };
}

/** The example of RFC 9535 §1.5. */
const BOOKSTORE = JSON.stringify({
  store: {
    book: [
      { category: 'reference', author: 'Nigel Rees', title: 'Sayings of the Century', price: 8.95 },
      { category: 'fiction', author: 'Evelyn Waugh', title: 'Sword of Honour', price: 12.99 },
      { category: 'fiction', author: 'Herman Melville', title: 'Moby Dick', isbn: '0-553-21311-3', price: 8.99 },
      {
        category: 'fiction',
        author: 'J. R. R. Tolkien',
        title: 'The Lord of the Rings',
        isbn: '0-395-19395-8',
        price: 22.99,
      },
    ],
    bicycle: { color: 'red', price: 399 },
  },
});

const cases = readTable('expressions').map(({ origin, fields: [subject = '', data = '', ...rest] }): Case => {
  const outcome = rest.at(-1);
  const metadata = rest.find((field) => field.startsWith('metadata '))?.slice(9);
  const [, position, path = '', reason] = /^error at (\d+)(?: of (\S+))?: (.*)$/.exec(outcome ?? '') ?? [];
  return {
    origin,
    ...(subject.startsWith('mask ')
      ? { mask: subject.slice(5) }
      : { expression: subject.startsWith('"') ? String(JSON.parse(subject)) : subject }),
    data: data === 'BOOKSTORE' ? BOOKSTORE : data,
    ...(metadata && { metadata: JSON.parse(metadata) }),
    ...(reason && { error: { reason, position: Number(position), path } }),
    ...(outcome && !reason && { result: outcome }),
  };
});

async function run(one: Case): Promise<string | undefined> {
  const scope = { data: parseJson(one.data), metadata: one.metadata };
  const value =
    one.mask === undefined
      ? await evaluateExpression(one.expression ?? '', scope)
      : await evaluateMask(parseJson(one.mask), scope);
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

  test.each(Object.keys(FILTERS))('cover %s with a result and with an error', (name) => {
    const uses = cases.filter((one) => new RegExp(`\\|\\s*${name}\\b`).test(one.expression ?? one.mask ?? ''));
    expect(uses.some((one) => one.result !== undefined) || FILTERS[name]?.random).toBe(true);
    expect(uses.some((one) => one.error !== undefined)).toBe(true);
  });
});
