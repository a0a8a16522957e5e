import type { Sodium } from './sodium.ts';
import { release, reserve } from './wasm-memory.ts';

/** Keyed BLAKE2b (RFC 7693) of `message` in `length` bytes, 16 to 64. */
export function keyedHash(
  { libsodium: wasm }: Sodium,
  length: number,
  message: Uint8Array,
  key: Uint8Array,
): Uint8Array {
  const size = length + key.length + message.length;
  const at = reserve(wasm, size);
  try {
    const keyAt = at + length;
    const messageAt = keyAt + key.length;
    const heap = wasm.HEAPU8;
    heap.set(key, keyAt);
    heap.set(message, messageAt);
    const failed = wasm._crypto_generichash(at, length, messageAt, message.length, 0, keyAt, key.length);
    if (failed !== 0) throw new RangeError('a keyed hash has 16 to 64 bytes, and its key, too');
    return wasm.HEAPU8.slice(at, at + length);
  } finally {
    release(wasm, at, size);
  }
}
