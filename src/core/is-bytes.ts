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
