import { randomFillSync } from 'node:crypto';
import type { Sodium } from './sodium.ts';

export const NONCE_BYTES = 24;

const POOL_BYTES = 4096;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** A command seals a value or two and ends: to load node:crypto for them takes longer than all else that it does. */
const WITHOUT_POOL = 4;
let taken = 0;

/**
 * Writes 24 fresh random bytes to `target` at `offset`. They come from the system's source: the first few by way of
 * libsodium, the others in blocks of 4 KiB, of which each byte is given out once and wiped from the pool.
 */
export function takeNonce(sodium: Sodium, target: Uint8Array, offset: number): void {
  taken += 1;
  if (taken <= WITHOUT_POOL) {
    target.set(sodium.randombytes_buf(NONCE_BYTES), offset);
    return;
  }
  if (used + NONCE_BYTES > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const end = used + NONCE_BYTES;
  target.set(pool.subarray(used, end), offset);
  pool.fill(0, used, end);
  used = end;
}
