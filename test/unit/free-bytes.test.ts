import { expect, it } from 'vitest';
import { freeBytes } from '../../src/core/bytes.ts';

it('long bytes are freed at once, but not those that share their memory', () => {
  const [long, short, whole] = [new Uint8Array(16 * 1024), new Uint8Array(100), new Uint8Array(40_000)];
  freeBytes(long);
  freeBytes(short);
  freeBytes(whole.subarray(10));
  expect([long.length, short.length, whole.length]).toEqual([0, 100, 40_000]);
});
