import { expect, it } from 'vitest';
import { addDigests, decodeDigest, encodeDigest } from '../../src/core/audit/record-digest.ts';

const LARGEST = (1n << 128n) - 1n;

it.each([
  [0n, 0n, 0n],
  // An exclusive or would be 0: two equal ordinary changes would hide a row that was put back.
  [5n, 5n, 10n],
  [LARGEST, 1n, 0n],
  [3n, -5n, LARGEST - 1n],
])('the sum of the digests %s and %s is %s', (a, b, sum) => expect(addDigests(a, b)).toBe(sum));

it.each([
  [0n, 'AAAAAAAAAAAAAAAAAAAAAA'],
  [1n, 'AAAAAAAAAAAAAAAAAAAAAQ'],
  [LARGEST, '_____________________w'],
])('the digest %s is written as %s', (digest, text) => {
  expect(encodeDigest(digest)).toBe(text);
  expect(decodeDigest(text)).toBe(digest);
});
