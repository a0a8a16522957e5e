/** The polynomial 0x04C11DB7, its bits in the order in which they are taken: lowest first. */
const POLYNOMIAL = 0xedb8_8320;

/**
 * CRC-32 as zlib and PNG have it (ISO 3309), unsigned. Tells accidents, among them every change of up to 32 bits in a row;
 * against intent it guards nothing. For short inputs: it goes bit by bit, which costs a start no table.
 */
export function crc32(bytes: Uint8Array): number {
  let rest = 0xffff_ffff;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? POLYNOMIAL : 0);
  }
  return ~rest >>> 0;
}
