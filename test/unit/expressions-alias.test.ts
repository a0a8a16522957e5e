import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/contract/json.ts';
import { ExpressionError } from '../../src/core/expressions/limits.ts';
import type { Random } from '../../src/core/ports.ts';
import { createRandomIndex } from '../../src/core/random-index.ts';
import { passesLuhn } from '../../src/core/tokens/validate-data.ts';
import { evaluateExpression } from './evaluate.ts';

function source(bytes: (length: number) => Uint8Array): Random {
  return {
    bytes,
    id: () => '00000000-0000-4000-8000-000000000000',
    timeOrderedId: () => '00000000-0000-7000-8000-000000000000',
  };
}

const random = source((length) => randomBytes(length));

async function alias(expression: string, data: Json, from = random): Promise<string> {
  return String(await evaluateExpression(expression, { data }, { random: from }));
}

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 13, maxLength: 19 });

describe('alias_card', () => {
  test('is another Luhn-valid number of the same length with the same ends', async () => {
    await fc.assert(
      fc.asyncProperty(digits, fc.nat(6), fc.nat(4), async (number, first, last) => {
        const card = await alias(`{{ data | alias_card: ${first}, ${last} }}`, number);
        expect(card).toMatch(/^\d+$/);
        expect(card).toHaveLength(number.length);
        expect(card).not.toBe(number);
        expect(passesLuhn(card)).toBe(true);
        expect(card.slice(0, first)).toBe(number.slice(0, first));
        expect(card.slice(card.length - last)).toBe(number.slice(number.length - last));
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    ['alias_card', '4242424242424242', /^\d{16}$/],
    ['alias_card: true', '4242424242424242', /^424242\d{10}$/],
    ['alias_card: false, true', '4242424242424242', /^\d{12}4242$/],
    ['alias_card: true, true', 4242424242424242, /^424242\d{6}4242$/],
    ["alias_card: 'true', 'true'", '4242424242424242', /^424242\d{6}4242$/],
    ["alias_card: 'false', 'false'", '4242424242424242', /^\d{16}$/],
    ['alias_card: 2, 3', '4242424242424242', /^42\d{11}242$/],
    ['alias_card: true, true', '4242 4242 4242 4242', /^4242 42\d\d \d{4} 4242$/],
    ['alias_card: false, true', '4242-4242-4242-4242', /^\d{4}-\d{4}-\d{4}-4242$/],
  ])('%s of %s', async (call, number, form) => {
    expect(await alias(`{{ data | ${call} }}`, number)).toMatch(form);
  });

  test('shows the ends of about one number in ten thousand by chance', async () => {
    const ends = await Promise.all(
      Array.from({ length: 50 }, () => alias('{{ data | alias_card }}', '4242424242424242')),
    );
    expect(ends.filter((card) => card.endsWith('4242') || card.startsWith('424242')).length).toBeLessThan(5);
  });

  test('reaches all nine other numbers when two digits are open', async () => {
    const seen = new Set<string>();
    for (let i = 0; i < 500; i++) seen.add(await alias('{{ data | alias_card: 10, 4 }}', '4242424242424242'));
    expect(seen.size).toBe(9);
    expect(seen).not.toContain('4242424242424242');
  });

  test('fails when at most one digit of a valid number is open', async () => {
    for (const [ends, reason] of [
      ['11, 4', 'alias_card finds no other card number with these ends'],
      ['12, 4', 'alias_card has nothing to replace'],
      ['16, 0', 'alias_card has nothing to replace'],
      ['65536, 65536', 'alias_card has nothing to replace'],
    ]) {
      await expect(alias(`{{ data | alias_card: ${ends} }}`, '4242424242424242')).rejects.toMatchObject({ reason });
    }
    // This number fails the check, and its one open digit can make it pass.
    expect(await alias('{{ data | alias_card: 11, 4 }}', '4242424242404242')).toBe('4242424242424242');
  });

  test('rejects anything but a card number, and ends when the random source repeats itself', async () => {
    for (const data of ['4242/4242/4242/4242', '424242424242', '42424242424242424242', 'abc', '', true, [1]]) {
      await expect(alias('{{ data | alias_card }}', data)).rejects.toBeInstanceOf(ExpressionError);
    }
    const zeros = source((length) => new Uint8Array(length));
    await expect(alias('{{ data | alias_card: 0, 4 }}', '1111111111110000', zeros)).rejects.toMatchObject({
      reason: 'alias_card finds no other card number with these ends',
    });
  });
});

describe('alias_preserve_format', () => {
  test('keeps digits digits, letters letters of their case, and everything else', async () => {
    const result = await alias('{{ data | alias_preserve_format }}', 'Ab-12 éÉ٣/😀');
    expect(result).toMatch(/^[A-Z][a-z]-\d\d [a-z][A-Z]\d\/😀$/);
  });

  test('keeps the ends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[a-z0-9]{6,12}$/), fc.nat(2), fc.nat(3), async (text, first, last) => {
        const result = await alias(`{{ data | alias_preserve_format: ${first}, ${last} }}`, text);
        const shape = (value: string) => value.replace(/[a-z]/g, 'a').replace(/\d/g, '0');
        expect(shape(result)).toBe(shape(text));
        expect(result.slice(0, first)).toBe(text.slice(0, first));
        expect(result.slice(result.length - last)).toBe(text.slice(text.length - last));
      }),
    );
  });

  test('rejects a value in which nothing would change', async () => {
    for (const [ends, data] of [
      ['', '--'],
      ['', ''],
      [': 2, 2', 'abcd'],
      [': 9', 'abcd'],
      [': 1, 1', 'a-b'],
    ]) {
      await expect(alias(`{{ data | alias_preserve_format${ends} }}`, data ?? '')).rejects.toMatchObject({
        reason: 'alias_preserve_format has nothing to replace',
      });
    }
  });
});

describe('alias_preserve_length', () => {
  test('replaces every character with a letter or a digit', async () => {
    expect(await alias('{{ data | alias_preserve_length }}', 'a-😀 é')).toMatch(/^[A-Za-z0-9]{5}$/);
    expect(await alias('{{ data | alias_preserve_length: 1, 2 }}', '<-😀 é>')).toMatch(/^<[A-Za-z0-9]{3}é>$/u);
    await expect(alias('{{ data | alias_preserve_length: 2, 1 }}', 'abc')).rejects.toBeInstanceOf(ExpressionError);
  });

  test('keeps null and rejects anything but text and numbers', async () => {
    expect(await evaluateExpression('{{ data.x | alias_preserve_length }}', { data: {} }, { random })).toBeNull();
    await expect(alias('{{ data | alias_preserve_length }}', true)).rejects.toBeInstanceOf(ExpressionError);
  });
});

describe('createRandomIndex', () => {
  test('discards bytes that would make some results more likely', () => {
    const all = Uint8Array.from({ length: 256 }, (_, at) => at);
    let at = 0;
    const index = createRandomIndex(
      source((length) => {
        at += length;
        return all.slice(at - length, at);
      }),
    );
    const counts = new Map<number, number>();
    for (let i = 0; i < 248; i++) {
      const value = index(62);
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    expect(counts.size).toBe(62);
    expect(new Set(counts.values())).toEqual(new Set([4]));
  });
});
