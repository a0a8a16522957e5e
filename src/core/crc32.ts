/** The polynomial 0x04C11DB7 with its bits reversed: lowest first. */
const POLYNOMIAL = 0xedb8_8320;

/**
 * Returns the unsigned CRC-32 of zlib and PNG (ISO 3309). The checksum detects accidental changes, such as any change
 * of up to 32 consecutive bits, but no deliberate ones. The code works bit by bit, without a table, so it suits short
 * inputs.
 */
export function crc32(bytes: Uint8Array): number {
  let rest = 0xffff_ffff;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? POLYNOMIAL : 0);
  }
  return ~rest >>> 0;
}
