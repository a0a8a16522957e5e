import { describe, expect, test } from 'vitest';
import { crc32 } from '../../src/core/crc32.ts';

describe('CRC-32', () => {
  // The check value of CRC-32/ISO-HDLC in the catalogue of parametrised CRC algorithms, and results of zlib.
  test.each([
    ['123456789', 0xcbf4_3926],
    ['', 0],
    ['a', 0xe8b7_be43],
    ['The quick brown fox jumps over the lazy dog', 0x414f_a339],
  ])('%j', (text, sum) => {
    expect(crc32(Buffer.from(text))).toBe(sum);
  });

  test('detects every one-bit change', () => {
    const bytes = Uint8Array.from({ length: 143 }, (_, index) => (index * 37) % 256);
    const sums = new Set([crc32(bytes)]);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = bytes.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
      sums.add(crc32(changed));
    }
    expect(sums.size).toBe(bytes.length * 8 + 1);
  });
});
