/**
 * Returns whether a text has more than `bytes` bytes of UTF-8. A UTF-16 code unit takes at most three bytes, so most
 * texts need no counting.
 */
export function isLonger(text: string, bytes: number): boolean {
  return text.length > bytes || (text.length * 3 > bytes && Buffer.byteLength(text) > bytes);
}
