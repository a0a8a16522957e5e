const BYTES = 16;
const BITS = 8 * BYTES;

/** Returns the sum of two digests. A digest is a sum, modulo 2^128, of keyed hashes of records. */
export function addDigests(a: bigint, b: bigint): bigint {
  return BigInt.asUintN(BITS, a + b);
}

/** Returns 22 characters of base64url. */
export function encodeDigest(digest: bigint): string {
  return Buffer.from(digest.toString(16).padStart(2 * BYTES, '0'), 'hex').toString('base64url');
}

export function decodeDigest(text: string): bigint {
  return BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
}
