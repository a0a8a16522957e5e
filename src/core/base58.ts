/** The alphabet of base 58 as Bitcoin uses it: no `0`, `O`, `I`, `l`. */
export const BASE58_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Bytes as a big-endian number in base 58; each leading zero byte is a leading `1`. */
export function base58(bytes: Uint8Array): string {
  const digits: number[] = [];
  let zeros = 0;
  for (const byte of bytes) {
    if (byte === 0 && digits.length === 0) zeros++;
    let carry = byte;
    for (let index = 0; index < digits.length; index++) {
      carry += (digits[index] ?? 0) * 256;
      digits[index] = carry % 58;
      carry = Math.floor(carry / 58);
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58);
  }
  const significant = digits.reverse().map((digit) => BASE58_ALPHABET[digit]);
  return '1'.repeat(zeros) + significant.join('');
}
