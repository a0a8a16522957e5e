/** The alphabet of base 58 as Bitcoin uses it: no `0`, `O`, `I`, `l`. */
export const BASE58_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const BASE = BASE58_ALPHABET.length;
const GROUP_PLACES = 5;
const GROUP = BASE ** GROUP_PLACES;

/** Bytes as a big-endian number in base 58; each leading zero byte is a leading `1`. */
export function base58(bytes: Uint8Array): string {
  // Two bytes and five places at a time, the least significant group first: a tenth of the divisions.
  const groups: number[] = [];
  let zeros = 0;
  while (bytes[zeros] === 0) zeros++;
  for (let at = bytes.length % 2 === 0 ? 0 : -1; at < bytes.length; at += 2) {
    let carry = (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0);
    for (let index = 0; index < groups.length; index++) {
      // Below 2^46, so that all of this is exact: `%` of numbers above 2^31 is slower than the rest together.
      carry += (groups[index] ?? 0) * 65_536;
      const quotient = Math.floor(carry / GROUP);
      groups[index] = carry - quotient * GROUP;
      carry = quotient;
    }
    if (carry > 0) groups.push(carry);
  }
  const codes: number[] = [];
  for (const group of groups) {
    let rest = group;
    for (let place = 0; place < GROUP_PLACES; place++) {
      const quotient = Math.floor(rest / BASE);
      codes.push(BASE58_ALPHABET.charCodeAt(rest - quotient * BASE));
      rest = quotient;
    }
  }
  const text = String.fromCharCode(...codes.reverse());
  return '1'.repeat(zeros) + text.replace(/^1+/, '');
}
