/** The alphabet of base 58 as Bitcoin uses it: no `0`, `O`, `I`, `l`. */
export const BASE58_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const BASE = BASE58_ALPHABET.length;
/** The number of digits converted in one step: 58^5 stays below 2^31, where numbers are faster than bigints. */
const GROUP_PLACES = 5;
const GROUP = BigInt(BASE ** GROUP_PLACES);

/** Returns the base 58 text of bytes, read as a big-endian number; each leading zero byte becomes a leading `1`. */
export function base58(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  let text = '';
  for (let rest = BigInt(`0x0${hex}`); rest > 0n; rest /= GROUP) {
    let group = Number(rest % GROUP);
    for (let place = 0; place < GROUP_PLACES; place++) {
      text = BASE58_ALPHABET.charAt(group % BASE) + text;
      group = Math.floor(group / BASE);
    }
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text.replace(/^1+/, '');
}
