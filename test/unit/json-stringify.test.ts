import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/contract/json.ts';
import { JsonNumber, objectOfMembers } from '../../src/core/json/kind.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { JsonText, stringifyJson } from '../../src/core/json/stringify.ts';

const lexeme = fc.oneof(
  fc.constantFrom('-0', '1.10', '1e2', '9007199254740993', '1E-7', '0.0', '1e999', '-12345678901234567890'),
  fc
    .bigInt({ min: 2n ** 53n + 1n })
    .map(String)
    .filter((text) => String(Number(text)) !== text),
);

const name = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.nat(5000).map(String),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'lexeme',
    'text',
    '',
    '00',
    '4294967294',
    '4294967295',
    '\ud800',
  ),
);

const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, depthSize: 'medium' },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
    lexeme.map((text) => new JsonNumber(text)),
    name,
    fc.array(tie('json'), { maxLength: 5 }),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 6 }).map((members) => objectOfMembers(new Map(members))),
  ),
}));

describe('stringifyJson', () => {
  test('survives a round trip through parseJson', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = stringifyJson(value);
        const parsed = parseJson(text, { maxDepth: 100 });
        // toStrictEqual compares a member named `constructor` as if it were the class.
        expect(isDeepStrictEqual(parsed, value)).toBe(true);
        expect(stringifyJson(parsed)).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  test('agrees with JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value);
        const plain: Json = JSON.parse(text);
        expect(stringifyJson(plain)).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  test('omits undefined members, inserts texts and prints lexemes', () => {
    const reply = {
      id: 'a"b',
      data: new JsonText('{"number":1.10}'),
      mask: undefined,
      items: [new JsonText('null'), new JsonNumber('1.0'), {}],
      last: undefined,
    };
    expect(stringifyJson(reply)).toBe('{"id":"a\\"b","data":{"number":1.10},"items":[null,1.0,{}]}');
  });

  test('prints an object of the data as an object even when it resembles a number or text', () => {
    const text = '{"a":{"lexeme":"1"},"b":{"text":"2"}}';
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  test('ignores inherited members', () => {
    const inheriting: Record<string, string> = Object.assign(Object.create({ inherited: 'x' }), { own: 'y' });
    expect(stringifyJson(inheriting)).toBe('{"own":"y"}');
  });

  test('rejects numbers that JSON does not have', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => stringifyJson([value])).toThrow(TypeError);
    }
  });
});
