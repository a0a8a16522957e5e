import { randomFillSync } from 'node:crypto';
import { freeBytes, isBytes } from '../core/bytes.ts';
import { Problem } from '../core/problem.ts';
import type { Sodium } from './sodium.ts';

const STEP = 64;
const STEPS_END = 1024;

/** The byte that follows the text and shows its encoding. Zeros follow the marker. */
const MARKER = { utf8: 0x80, utf16: 0x81 } as const;

/**
 * Returns the padded size of `length` bytes of text and marker: steps of 64 up to 1 KiB, then Padmé (Nikitin et al.,
 * "Reducing Metadata Leakage from Encrypted Files", PETS 2019, §4.4), which adds at most 12 % and leaks O(log log)
 * bits.
 */
export function paddedLength(length: number): number {
  if (length <= STEPS_END) return Math.ceil(length / STEP) * STEP;
  const exponent = Math.floor(Math.log2(length));
  const kept = Math.floor(Math.log2(exponent)) + 1;
  const step = 2 ** (exponent - kept);
  return Math.ceil(length / step) * step;
}

/**
 * Returns the bytes to seal for a text: `text ‖ 0x80 ‖ zeros` with the text in UTF-8. Text with lone surrogates, which
 * UTF-8 would lose, is in UTF-16LE with the marker 0x81. The caller wipes the bytes.
 */
export function padText(text: string): Uint8Array {
  const wellFormed = text.isWellFormed();
  const encoding = wellFormed ? 'utf8' : 'utf16le';
  const length = Buffer.byteLength(text, encoding);
  const padded = Buffer.allocUnsafe(paddedLength(length + 1));
  padded.write(text, 0, encoding);
  padded[length] = wellFormed ? MARKER.utf8 : MARKER.utf16;
  padded.fill(0, length + 1);
  return padded;
}

/** Returns the text in bytes from `padText`, or undefined for other bytes. */
export function unpadText(padded: Buffer): string | undefined {
  let length = padded.length - 1;
  while (length >= 0 && padded[length] === 0) length--;
  if (length < 0 || paddedLength(length + 1) !== padded.length) return undefined;
  if (padded[length] === MARKER.utf8) return padded.toString('utf8', 0, length);
  if (padded[length] === MARKER.utf16 && length % 2 === 0) return padded.toString('utf16le', 0, length);
  return undefined;
}

const NONCE_BYTES = 24;

const POOL_BYTES = 4096;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Writes 24 fresh random bytes to `target`. They come from the system's source in blocks of 4 KiB; each byte is used
 * once and wiped from the pool.
 */
function takeNonce(target: Uint8Array): void {
  if (used + NONCE_BYTES > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  for (let at = 0; at < NONCE_BYTES; at += 1) {
    target[at] = pool[used] as number;
    pool[used] = 0;
    used += 1;
  }
}

/** XChaCha20-Poly1305-IETF with a random nonce (draft-irtf-cfrg-xchacha-03). */
export const SUITE = 0x01;

const NONCE_AT = 5;
const CIPHERTEXT_AT = NONCE_AT + NONCE_BYTES;
const TAG_BYTES = 16;

/** The number of bytes that an envelope adds to the sealed bytes. */
export const ENVELOPE_OVERHEAD = CIPHERTEXT_AT + TAG_BYTES;

/**
 * Seals bytes under a key. The envelope is
 *
 *     offset  0      1           5          29
 *             suite  key id u32  nonce 24   ciphertext ‖ tag 16
 *
 * The ciphertext is bound to `context`, which must also contain the key id.
 */
export function sealEnvelope(
  sodium: Sodium,
  key: Uint8Array,
  keyId: number,
  context: Uint8Array,
  plaintext: Uint8Array,
): Uint8Array {
  // From Buffer's pool, because V8 takes longer for a buffer of its own. Every byte is written below.
  const envelope = Buffer.allocUnsafe(plaintext.length + ENVELOPE_OVERHEAD);
  envelope[0] = SUITE;
  envelope.writeUInt32BE(keyId, 1);
  const nonce = new Uint8Array(envelope.buffer, envelope.byteOffset + NONCE_AT, NONCE_BYTES);
  takeNonce(nonce);
  const sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, context, null, nonce, key);
  envelope.set(sealed, CIPHERTEXT_AT);
  freeBytes(sealed);
  return envelope;
}

/**
 * Returns the id of the key that an envelope was sealed with. Throws `integrity_failure` for bytes that are not an
 * envelope.
 */
export function envelopeKeyId(envelope: Uint8Array): number {
  // In a damaged row, the value may have another type.
  const isEnvelope = isBytes(envelope) && envelope.length >= ENVELOPE_OVERHEAD && envelope[0] === SUITE;
  if (!isEnvelope) throw new Problem('integrity_failure');
  return new DataView(envelope.buffer, envelope.byteOffset).getUint32(1);
}

/**
 * Returns the bytes in an envelope; the caller wipes them. Throws `integrity_failure` unless key, key id, context and
 * envelope are those of the sealing.
 */
export function openEnvelope(
  sodium: Sodium,
  key: Uint8Array,
  keyId: number,
  context: Uint8Array,
  envelope: Uint8Array,
): Uint8Array {
  if (envelopeKeyId(envelope) !== keyId) throw new Problem('integrity_failure');
  const nonce = envelope.subarray(NONCE_AT, CIPHERTEXT_AT);
  try {
    const sealed = envelope.subarray(CIPHERTEXT_AT);
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(null, sealed, context, nonce, key);
  } catch {
    throw new Problem('integrity_failure');
  }
}

/** Seals a padded text, as `sealEnvelope` does. */
export function sealText(sodium: Sodium, key: Uint8Array, keyId: number, context: Uint8Array, text: string) {
  const padded = padText(text);
  const envelope = sealEnvelope(sodium, key, keyId, context, padded);
  padded.fill(0);
  freeBytes(padded);
  return envelope;
}

/** Returns the text that `sealText` sealed. Throws `integrity_failure` as `openEnvelope` does. */
export function openText(
  sodium: Sodium,
  key: Uint8Array,
  keyId: number,
  context: Uint8Array,
  envelope: Uint8Array,
): string {
  const padded = openEnvelope(sodium, key, keyId, context, envelope);
  // Copy into Buffer's pool: creating an own buffer for a small array takes V8 three times as long.
  const copy = Buffer.from(padded);
  const text = unpadText(copy);
  padded.fill(0);
  copy.set(padded); // all zeros by now
  freeBytes(padded);
  freeBytes(copy);
  if (text === undefined) throw new Problem('integrity_failure');
  return text;
}
