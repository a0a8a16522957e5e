import type { Random } from './ports.ts';

/**
 * Returns a function that returns uniform whole numbers from 0 to below `size` (at most 256). It discards bytes beyond
 * the last whole multiple, and takes `batch` random bytes at a time.
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
