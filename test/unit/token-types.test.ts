import { describe, expect, test } from 'vitest';
import { TOKEN_TYPE_NAMES, type TokenType } from '../../src/contract/token-types.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { passesAba, passesLuhn, validateData } from '../../src/core/tokens/validate-data.ts';
import { readTable, readVectors } from '../vectors/read-vectors.ts';

const cases = readTable('validation').map(({ part, fields: [data = '', verdict = ''] }) => {
  return { type: part as TokenType, data, wrong: verdict === 'valid' ? [] : verdict.split(' ') };
});
const { luhn, aba } = readVectors<Record<'luhn' | 'aba', Record<'valid' | 'invalid', string>>>('check-digits');

describe('validateData', () => {
  test.each(cases)('$type: $data', ({ type, data, wrong }) => {
    expect(Object.keys(validateData(type, parseJson(data))).sort()).toEqual(wrong);
  });

  test('the vectors accept and reject every type at least once', () => {
    for (const accepted of [true, false]) {
      const types = cases.filter(({ wrong }) => (wrong.length === 0) === accepted).map(({ type }) => type);
      expect(new Set(types)).toEqual(new Set(TOKEN_TYPE_NAMES));
    }
  });

  test('a message describes valid input and never quotes the value', () => {
    for (const { type, data } of cases) {
      for (const [message, ...more] of Object.values(validateData(type, parseJson(data)))) {
        expect(more).toEqual([]);
        expect(message).toMatch(/^(must be .*[^.]|is required|is not a member of .*[^.])$/);
        expect(message).not.toMatch(/[0-9٠-٩]{5}/);
      }
    }
  });

  test('a null for an optional member asks to omit it', () => {
    const errors = validateData('card', parseJson('{"number":"4242424242424242","cvc":null}'));
    expect(errors['data.cvc']?.[0]).toContain('omit the member');
  });

  test('an unknown member gets the list of members', () => {
    const errors = validateData('card', parseJson('{"number":"4242424242424242","nummer":"1"}'));
    expect(errors).toEqual({
      'data.nummer': ['is not a member of a card; its members are number, expiration_month, expiration_year, cvc'],
    });
  });
});

describe('passesLuhn', () => {
  test.each(luhn.valid.split(' '))('passes: %s', (digits) => expect(passesLuhn(digits)).toBe(true));
  test.each(luhn.invalid.split(' '))('fails: %s', (digits) => expect(passesLuhn(digits)).toBe(false));
});

describe('passesAba', () => {
  test.each(aba.valid.split(' '))('passes: %s', (digits) => expect(passesAba(digits)).toBe(true));
  test.each(aba.invalid.split(' '))('fails: %s', (digits) => expect(passesAba(digits)).toBe(false));
});
