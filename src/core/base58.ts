/** The alphabet of base 58 as Bitcoin uses it: no `0`, `O`, `I`, `l`. */
export const BASE58_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const BASE = BASE58_ALPHABET.length;
const GROUP_PLACES = 5;
const GROUP = BASE ** GROUP_PLACES;

/** Bytes as a big-endian number in base 58; each leading zero byte is a leading `1`. */
export function base58(bytes: Uint8Array): string {
  // Five places at a time, the least significant group first: a fifth of the divisions.
  const groups: number[] = [];
  let zeros = 0;
  for (const byte of bytes) {
    if (byte === 0 && groups.length === 0) zeros++;
    let carry = byte;
    for (let index = 0; index < groups.length; index++) {
      carry += (groups[index] ?? 0) * 256;
      groups[index] = carry % GROUP;
      carry = Math.floor(carry / GROUP);
    }
    if (carry > 0) groups.push(carry);
  }
  let text = '';
  for (const group of groups) {
    let rest = group;
    for (let place = 0; place < GROUP_PLACES; place++) {
      text = BASE58_ALPHABET.charAt(rest % BASE) + text;
      rest = Math.floor(rest / BASE);
    }
  }
  return '1'.repeat(zeros) + text.replace(/^1+/, '');
}
