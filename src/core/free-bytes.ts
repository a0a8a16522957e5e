/** Shorter bytes are left to the garbage collector, because freeing each of them would cost more. */
const MIN_FREED = 16 * 1024;

/**
 * Frees the memory of bytes that nothing reads again. The garbage collector would keep up to 64 MiB of them. Does
 * nothing for short bytes, and for bytes that share their memory with others.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < MIN_FREED || byteLength !== buffer.byteLength) return;
  if ('transfer' in buffer) buffer.transfer(0);
}
