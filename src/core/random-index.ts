import type { Random } from './ports.ts';

/**
 * Returns a function that returns uniform random integers from 0 to `size` - 1, for a `size` of at most 256. The
 * function reads `batch` random bytes at a time and discards bytes that would make the result uneven.
 */
export function createRandomIndex(random: Random, batch = 64): (size: number) => number {
  let bytes = new Uint8Array();
  let at = 0;
  return (size) => {
    const limit = 256 - (256 % size);
    for (;;) {
      if (at === bytes.length) {
        bytes = Uint8Array.from(random.bytes(batch));
        at = 0;
      }
      const byte = bytes[at++] ?? 256;
      if (byte < limit) return byte % size;
    }
  };
}
