import { isUtf8 } from 'node:buffer';

/**
 * Returns whether a value is a `Uint8Array` or a `Buffer`, of any realm. A driver may return bytes of another realm.
 */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
}

/** Returns whether two byte arrays are equal. Not for secrets: the time depends on the bytes. */
export function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/**
 * Returns whether a text has more than `bytes` bytes of UTF-8. A UTF-16 code unit takes at most three bytes, so most
 * texts need no counting.
 */
export function isLonger(text: string, bytes: number): boolean {
  return text.length > bytes || (text.length * 3 > bytes && Buffer.byteLength(text) > bytes);
}

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

/**
 * Returns the text of bytes in UTF-8, with a byte order mark if there is one; undefined for other bytes. Needs no
 * `TextDecoder`, which jest's environment jsdom lacks.
 */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
