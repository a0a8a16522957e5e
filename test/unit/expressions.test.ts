import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/contract/json.ts';
import { FILTERS } from '../../src/core/expressions/filters.ts';
import { ExpressionError } from '../../src/core/expressions/limits.ts';
import { JsonNumber } from '../../src/core/json/kind.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';
import { evaluateExpression, evaluateMask } from './evaluate.ts';

async function failure(result: Promise<unknown>): Promise<ExpressionError> {
  const error: unknown = await result.then(
    () => new Error('was evaluated'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ExpressionError) return error;
  throw error;
}

function evaluate(source: string, data: Json): Promise<Json> {
  return evaluateExpression(source, { data });
}

/** Quotes a text for Liquid, where only a quote and a backslash are escaped. */
function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

const anyText = fc.string({ unit: 'binary', maxLength: 40 });

describe('values', () => {
  test('only own members are found, also in objects with a prototype', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'length'];
    for (const name of names) {
      for (const data of [{ a: 1 }, ['a'], 'a', 5, true, new JsonNumber('1.0'), parseJson('{}')]) {
        expect(await evaluate(`{{ data.${name} }}`, data)).toBeNull();
        expect(await evaluate(`{{ data['${name}'] }}`, data)).toBeNull();
        expect(await evaluateExpression(`{{ metadata.${name} }}`, { data, metadata: {} })).toBeNull();
      }
    }
  });

  test('a quoted text may contain any character', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        expect(await evaluate(`{{ ${quoted(text)} }}`, null)).toBe(text);
      }),
    );
  });
});

describe('masking', () => {
  test('reveal filters always hide something', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }),
        fc.nat(12),
        fc.nat(12),
        fc.string({ maxLength: 5 }),
        async (text, first, last, preserved) => {
          const source = `{{ data | reveal: ${first}, ${last}, '\uE000', ${quoted(preserved)} }}`;
          const masked = [...String(await evaluate(source, text))];
          expect(masked).toHaveLength([...text].length);
          expect(masked).toContain('\uE000');
        },
      ),
    );
  });

  test('a masking filter never returns a value that it cannot mask', async () => {
    for (const filter of ['reveal_last: 4', 'reveal: 1, 1', 'last4', 'pad_left: 2, "0"']) {
      for (const text of ['true', '{"a":"4242"}', '["4242"]']) {
        const error = await failure(evaluate(`{{ data | ${filter} }}`, parseJson(text)));
        expect(error.reason).toContain('needs text or a number');
      }
    }
  });

  test('an error quotes neither the data nor the expression', async () => {
    const secret = 'S3cretValue';
    const sources = Object.entries(FILTERS).flatMap(([name, { parameters }]) => [
      `{{ data | ${name} }}`,
      `{{ data | ${name}: data }}`,
      `{{ data | ${name}${Object.keys(parameters).length === 0 ? '' : ':'} ${Object.keys(parameters)
        .map(() => `'${secret}'`)
        .join(', ')} }}`,
      `{{ data | ${name}: 1, 2, 3, 4, 5, '${secret}' }}`,
      `{{ data | ${secret}: 1 }}`,
      `{{ ${secret} }}`,
      `{{ data | ${name} '${secret} }}`,
    ]);
    for (const source of sources) {
      for (const data of [secret, [secret], { a: secret }]) {
        const error: unknown = await evaluate(source, data).catch((thrown: unknown) => thrown);
        if (error instanceof Error) {
          expect(error).toBeInstanceOf(ExpressionError);
          expect(error.message).not.toContain(secret);
        }
      }
    }
  });

  test('any sequence of filters returns JSON or an ExpressionError with a position in the source', async () => {
    const argument = fc.oneof(
      fc.constantFrom('data', 'data.a', 'data[0]', 'nil', 'true', "'$.a'", "'$..*'", '1.5', '-1'),
      fc.nat(9).map(String),
      fc.string({ maxLength: 3 }).map(quoted),
    );
    const call = fc
      .tuple(fc.constantFrom(...Object.keys(FILTERS)), fc.array(argument, { maxLength: 3 }))
      .map(([name, args]) => `| ${name}${args.length === 0 ? '' : `: ${args.join(', ')}`}`);
    await fc.assert(
      fc.asyncProperty(fc.json({ maxDepth: 2 }), fc.array(call, { maxLength: 4 }), async (text, calls) => {
        const source = `{{ data ${calls.join(' ')} }}`;
        try {
          parseJson(stringifyJson(await evaluate(source, parseJson(text))));
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionError);
          if (error instanceof ExpressionError) expect(source.length).toBeGreaterThan(error.position);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('masks', () => {
  test('metadata and random filters are not available', async () => {
    const scope = { data: 'abc' };
    expect((await failure(evaluateMask('{{ metadata.a }}', scope))).position).toBe(3);
    expect((await failure(evaluateMask({ a: ['{{ data | alias_preserve_length }}'] }, scope))).path).toBe('a.0');
  });
});
