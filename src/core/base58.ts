/** The alphabet of base 58 as Bitcoin uses it: no `0`, `O`, `I`, `l`. */
export const BASE58_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const BASE = BASE58_ALPHABET.length;
/** The number of digits in a group. With the next 16 bits behind it, a group stays below 2^53, where numbers are exact. */
const GROUP_DIGITS = 5;
const GROUP = BASE ** GROUP_DIGITS;

/** Returns the base 58 text of bytes, read as a big-endian number; each leading zero byte becomes a leading `1`. */
export function base58(bytes: Uint8Array): string {
  /** The groups of digits of the number so far, the lowest first. */
  const groups: number[] = [];
  for (let at = bytes.length % 2 === 0 ? 0 : -1; at < bytes.length; at += 2) {
    let carry = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    for (let place = 0; place < groups.length || carry > 0; place += 1) {
      const value = (groups[place] ?? 0) * 2 ** 16 + carry;
      carry = Math.floor(value / GROUP);
      groups[place] = value - carry * GROUP;
    }
  }
  let text = '';
  for (let rest of groups) {
    for (let digit = 0; digit < GROUP_DIGITS; digit += 1) {
      text = BASE58_ALPHABET.charAt(rest % BASE) + text;
      rest = Math.floor(rest / BASE);
    }
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text.replace(/^1+/, '');
}
