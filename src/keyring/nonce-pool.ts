import { randomFillSync } from 'node:crypto';

export const NONCE_BYTES = 24;

const POOL_BYTES = 4096;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Writes 24 fresh random bytes to `target` at `offset`. They come from the system's source in blocks of 4 KiB, each byte
 * is given out once and wiped from the pool.
 */
export function takeNonce(target: Uint8Array, offset: number): void {
  if (used + NONCE_BYTES > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const end = used + NONCE_BYTES;
  target.set(pool.subarray(used, end), offset);
  pool.fill(0, used, end);
  used = end;
}
