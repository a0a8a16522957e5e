/**
 * Returns whether a text has more than `bytes` bytes of UTF-8. A code unit has at most three, so most texts need no
 * counting.
 */
export function isLonger(text: string, bytes: number): boolean {
  return text.length > bytes || (text.length * 3 > bytes && Buffer.byteLength(text) > bytes);
}
