import { describe, expect, test } from 'vitest';
import { paddedLength, unpadText } from '../../src/keyring/envelope.ts';

describe('the padded length', () => {
  test.each([
    [1, 64],
    [64, 64],
    [65, 128],
    [1000, 1024],
    [1024, 1024],
    [1025, 1088],
    [2047, 2048],
    // Padmé by hand: 5000 has 13 bits, so E = 12 and S = 4, and the last 8 bits are zero.
    [5000, 5120],
    [1_000_000, 1_015_808],
    [2 ** 31 + 1, 2 ** 31 + 2 ** 26],
  ])('of %i is %i', (length, padded) => {
    expect(paddedLength(length)).toBe(padded);
  });
});

describe('padding', () => {
  const unpad = (length: number, ...start: readonly number[]) => {
    const bytes = Buffer.alloc(length);
    bytes.set(start);
    return unpadText(bytes);
  };

  test('is removed only when it is complete', () => {
    expect(unpad(64, 0x61, 0x80)).toBe('a');
    expect(unpad(64, 0x80)).toBe('');
    expect(unpad(64, 0x61, 0x00, 0x80)).toBe('a\0');
    expect(unpad(0)).toBeUndefined();
    expect(unpad(64)).toBeUndefined();
    expect(unpad(64, 0x61)).toBeUndefined();
    expect(unpad(64, 0x61, 0x82)).toBeUndefined();
    expect(unpad(64, 0x61, 0x81)).toBeUndefined();
    expect(unpad(63, 0x61, 0x80)).toBeUndefined();
    expect(unpad(128, 0x61, 0x80)).toBeUndefined();
  });
});
