import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeFields, type Field, FieldEncoder } from '../../src/keyring/field-encoder.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('fields', () => {
  test.each<[string, Field, string]>([
    ['absent', undefined, '00'],
    ['empty text', '', '0100000000'],
    ['ASCII', 'a~', '0100000002617e'],
    ['other text', 'é', '0200000002e900'],
    ['a lone surrogate', 'a\ud800', '0200000004610000d8'],
    ['zero', 0, '030000000000000000'],
    ['a number', 1, '033ff0000000000000'],
    ['bytes', Uint8Array.of(0, 255), '040000000200ff'],
  ])('are encoded as documented: %s', (_, field, expected) => {
    expect(hex(encodeFields(field))).toBe(expected);
  });

  test.each(['secret', 'sécret', '\u20ac'.repeat(200)])('leave no byte behind when they are wiped: %j', (text) => {
    const encoder = new FieldEncoder();
    encoder.text(text);
    const memory = new Uint8Array(encoder.written().buffer);
    expect(memory.some((byte) => byte !== 0)).toBe(true);
    encoder.wipe();
    expect(memory.some((byte) => byte !== 0)).toBe(false);
  });

  test('in a list follow their count', () => {
    const encoder = new FieldEncoder();
    encoder.list(['a', undefined]);
    expect(hex(encoder.written())).toBe('0500000002' + '010000000161' + '00');
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

  test('grow the buffer when they are long', () => {
    const long = 'x'.repeat(1000);
    const encoded = encodeFields(long, 'é'.repeat(1000), new Uint8Array(5000), 7);
    expect(encoded).toHaveLength(5 + 1000 + 5 + 2000 + 5 + 5000 + 9);
    expect(Buffer.from(encoded.subarray(5, 1005)).toString()).toBe(long);
  });
});

test('an encoder can be reset to its prefix', () => {
  const encoder = new FieldEncoder(encodeFields('prefix'));
  encoder.text('x'.repeat(2000));
  encoder.reset();
  encoder.number(1);
  expect(hex(encoder.written())).toBe(hex(encodeFields('prefix', 1)));
});
