/** The alphabet of base 58 as Bitcoin uses it: no `0`, `O`, `I`, `l`. */
export const BASE58_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const BASE = BASE58_ALPHABET.length;
/**
 * The number of digits converted in one step. The remainder of a step stays below 58^5 < 2^30, and below 2^53 with the
 * next 16 bits behind it, where numbers are exact and faster than bigints.
 */
const GROUP_DIGITS = 5;
const GROUP = BASE ** GROUP_DIGITS;
const WORD = 2 ** 16;

/** Returns the base 58 text of bytes, read as a big-endian number; each leading zero byte becomes a leading `1`. */
export function base58(bytes: Uint8Array): string {
  const words = wordsOf(bytes);
  const codes: number[] = [];
  let first = 0;
  while (first < words.length) {
    let rest = 0;
    for (let at = first; at < words.length; at += 1) {
      const value = rest * WORD + (words[at] ?? 0);
      const quotient = Math.floor(value / GROUP);
      words[at] = quotient;
      rest = value - quotient * GROUP;
    }
    while (words[first] === 0) first += 1;
    for (let position = 0; position < GROUP_DIGITS; position += 1) {
      codes.push(BASE58_ALPHABET.charCodeAt(rest % BASE));
      rest = Math.floor(rest / BASE);
    }
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  const text = String.fromCharCode(...codes.reverse()).replace(/^1+/, '');
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

/** Returns bytes as words of 16 bits, without leading zero words. */
function wordsOf(bytes: Uint8Array): number[] {
  const words: number[] = [];
  for (let at = bytes.length % 2 === 0 ? 0 : -1; at < bytes.length; at += 2) {
    const word = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    if (word > 0 || words.length > 0) words.push(word);
  }
  return words;
}
