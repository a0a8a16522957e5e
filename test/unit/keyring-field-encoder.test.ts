import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeFields, FieldEncoder } from '../../src/keyring/field-encoder.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('fields', () => {
  test.each(['secret', 'sécret', '\u20ac'.repeat(200)])('leave no byte behind when they are wiped: %j', (text) => {
    const encoder = new FieldEncoder();
    const memory = new Uint8Array(encoder.encode(text).buffer);
    expect(memory.some((byte) => byte !== 0)).toBe(true);
    encoder.wipe();
    expect(memory.some((byte) => byte !== 0)).toBe(false);
  });

  test('give the same bytes only for the same sequence', () => {
    const field = fc.oneof(
      fc.constant(undefined),
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constantFrom('\0', '\0\0', '\u0000\u0000\u0000\u0000\u0001', '\ud800', 'é'),
      fc.double(),
      fc.uint8Array({ maxLength: 3 }),
    );
    const fields = fc.array(field, { maxLength: 4 });
    fc.assert(
      fc.property(fields, fields, (one, other) => {
        expect(hex(encodeFields(...one)) === hex(encodeFields(...other))).toBe(isDeepStrictEqual(one, other));
      }),
      { numRuns: 2000 },
    );
  });
});
