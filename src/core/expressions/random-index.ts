import type { Random } from '../ports.ts';

const BATCH = 64;

/** Numbers from 0 up to, not including, `size` (at most 256), each as likely as the others: bytes beyond the last whole multiple are thrown away. */
export function createRandomIndex(random: Random): (size: number) => number {
  let batch = new Uint8Array();
  let at = 0;
  return (size) => {
    const limit = 256 - (256 % size);
    for (;;) {
      if (at === batch.length) {
        batch = Uint8Array.from(random.bytes(BATCH));
        at = 0;
      }
      const byte = batch[at++] ?? 256;
      if (byte < limit) return byte % size;
    }
  };
}
