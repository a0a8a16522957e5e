import { randomFillSync } from 'node:crypto';
import { freeBytes } from '../core/free-bytes.ts';
import { isBytes } from '../core/is-bytes.ts';
import { Problem } from '../core/problem.ts';
import { padText, unpadText } from './padding.ts';
import type { Sodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';

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
  requireKey(key);
  // From Buffer's pool, because V8 takes longer for a buffer of its own. Every byte is written below.
  const envelope = Buffer.allocUnsafe(plaintext.length + ENVELOPE_OVERHEAD);
  envelope[0] = SUITE;
  envelope[1] = keyId >>> 24;
  envelope[2] = keyId >>> 16;
  envelope[3] = keyId >>> 8;
  envelope[4] = keyId;
  const nonce = new Uint8Array(envelope.buffer, envelope.byteOffset + NONCE_AT, NONCE_BYTES);
  takeNonce(nonce);
  const sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, context, null, nonce, key);
  envelope.set(sealed, CIPHERTEXT_AT);
  freeBytes(sealed);
  return envelope;
}

function requireKey({ length }: Uint8Array): void {
  if (length !== KEY_BYTES) throw new RangeError(`a key must have ${KEY_BYTES} bytes`);
}

function requireEnvelope(bytes: Uint8Array): void {
  // In a damaged row, the value may have another type.
  const isEnvelope = isBytes(bytes) && bytes.length >= ENVELOPE_OVERHEAD && bytes[0] === SUITE;
  if (!isEnvelope) throw new Problem('integrity_failure');
}

/**
 * Returns the id of the key that an envelope was sealed with. Throws `integrity_failure` for bytes that are not an
 * envelope.
 */
export function envelopeKeyId(envelope: Uint8Array): number {
  requireEnvelope(envelope);
  return (
    ((byteAt(envelope, 1) << 24) | (byteAt(envelope, 2) << 16) | (byteAt(envelope, 3) << 8) | byteAt(envelope, 4)) >>> 0
  );
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

/**
 * Returns the bytes in an envelope; the caller wipes them. Throws `integrity_failure` unless key, context and envelope
 * are those of the sealing.
 */
export function openEnvelope(sodium: Sodium, key: Uint8Array, context: Uint8Array, envelope: Uint8Array): Uint8Array {
  requireEnvelope(envelope);
  requireKey(key);
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
export function openText(sodium: Sodium, key: Uint8Array, context: Uint8Array, envelope: Uint8Array): string {
  const padded = openEnvelope(sodium, key, context, envelope);
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
