import { describe, expect, test } from 'vitest';
import { JsonNumber, memberNames } from '../../src/core/json/kind.ts';
import { JsonSyntaxError, parseJson } from '../../src/core/json/parse.ts';
import { JsonText, stringifyJson } from '../../src/core/json/stringify.ts';
import { readVectors } from '../vectors/read-vectors.ts';

const vectors = readVectors<{
  accepted: { name: string; text: string; printed: string }[];
  refused: { name: string; text: string; kind: string; position: number; path?: string }[];
}>('json');

function refusal(text: string, maxDepth?: number): JsonSyntaxError {
  try {
    parseJson(text, maxDepth === undefined ? {} : { maxDepth });
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

function builtIn(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

describe('parseJson', () => {
  test.each(vectors.accepted)('accepts: $name', ({ text, printed }) => {
    expect(stringifyJson(parseJson(text))).toBe(printed);
    expect(builtIn(text)).toBeDefined();
  });

  test.each(vectors.refused)('rejects: $name', ({ text, kind, position, path = '' }) => {
    const error = refusal(text);
    expect({ kind: error.kind, position: error.position }).toEqual({ kind, position });
    if (path !== '') expect(error.path).toBe(path);
    if (kind === 'syntax') expect(builtIn(text)).toBeUndefined();
  });

  test('objects inherit nothing, and their prototype is frozen', () => {
    const parsed = Object(parseJson('{"__proto__":{"a":1},"b":{}}'));
    const inherited = Object.getPrototypeOf(parsed);
    expect(Object.getPrototypeOf(inherited)).toBe(null);
    expect(Reflect.ownKeys(inherited)).toEqual([]);
    expect(Object.isFrozen(inherited)).toBe(true);
    for (const name of ['a', 'constructor', 'toString']) expect(name in parsed).toBe(false);
    expect(Object.keys(parsed)).toEqual(['__proto__', 'b']);
    expect(Object.hasOwn({}, 'a')).toBe(false);
  });

  test('a number is a double only when the double prints as it was written', () => {
    for (const text of ['0', '1', '-1', '0.1', '123456789012345', '9007199254740992', '1e+21', '5e-324', '-2.5']) {
      expect(parseJson(text)).toBe(Number(text));
    }
    for (const text of ['-0', '1.0', '1e21', '9007199254740993', '1E5', '0.10', '1e400', '0e0', '123456789012345678']) {
      expect(parseJson(text)).toEqual(new JsonNumber(text));
    }
  });

  test('a copy of an object does not keep the order of the original', () => {
    const parsed: Record<string, unknown> = Object(parseJson('{"b":1,"2":2,"1":3}'));
    expect(memberNames(parsed)).toEqual(['b', '2', '1']);
    expect(memberNames({ ...parsed, c: 4 })).toEqual(['1', '2', 'b', 'c']);
  });

  test('nests to the maximum depth and no deeper', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(stringifyJson(parseJson(nested(1024)))).toBe(nested(1024));
    expect(refusal(nested(1025))).toMatchObject({ kind: 'depth', position: 1024 });
    expect(refusal('{"a":'.repeat(100_000))).toMatchObject({ kind: 'depth', position: 5120 });
    expect(refusal('[[1]]', 1)).toMatchObject({ kind: 'depth', position: 1, path: '0' });
    expect(parseJson('[1]', { maxDepth: 1 })).toEqual([1]);
    expect(refusal('{}', 0)).toMatchObject({ kind: 'depth', position: 0, path: '' });
    expect(parseJson(`[${'[],'.repeat(100)}[]]`, { maxDepth: 2 })).toHaveLength(101);
  });

  test('an error contains no value', () => {
    for (const text of ['{"data":"4242424242424242"', '["4242424242424242" 1]', '4242424242424242x', '"4242\\q"']) {
      const error = refusal(text);
      expect(`${error.reason} ${error.message} ${error.stack?.split('\n')[0]}`).not.toContain('4242');
    }
  });
});

describe('stringifyJson', () => {
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
