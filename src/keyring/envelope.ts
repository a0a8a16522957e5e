import { Problem } from '../core/problem.ts';
import { NONCE_BYTES, takeNonce } from './nonce-pool.ts';
import type { Sodium } from './sodium.ts';

/** XChaCha20-Poly1305-IETF with a random nonce (draft-irtf-cfrg-xchacha-03). */
export const SUITE = 0x01;

const NONCE_AT = 5;
const CIPHERTEXT_AT = NONCE_AT + NONCE_BYTES;
const TAG_BYTES = 16;

/** How many bytes an envelope has beyond what is sealed in it. */
export const ENVELOPE_OVERHEAD = CIPHERTEXT_AT + TAG_BYTES;

/**
 * Seals bytes under a key into
 *
 *     offset  0      1           5          29
 *             suite  key id u32  nonce 24   ciphertext ‖ tag 16
 *
 * bound to `context`, which must name the key id too.
 */
export function sealEnvelope(
  sodium: Sodium,
  key: Uint8Array,
  keyId: number,
  context: Uint8Array,
  plaintext: Uint8Array,
): Uint8Array {
  const envelope = new Uint8Array(plaintext.length + ENVELOPE_OVERHEAD);
  envelope[0] = SUITE;
  envelope[1] = keyId >>> 24;
  envelope[2] = keyId >>> 16;
  envelope[3] = keyId >>> 8;
  envelope[4] = keyId;
  takeNonce(sodium, envelope, NONCE_AT);
  const nonce = envelope.subarray(NONCE_AT, CIPHERTEXT_AT);
  envelope.set(sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, context, null, nonce, key), CIPHERTEXT_AT);
  return envelope;
}

function requireEnvelope(bytes: Uint8Array): void {
  // What a damaged row has in this place may be no bytes at all.
  const isEnvelope = bytes instanceof Uint8Array && bytes.length >= ENVELOPE_OVERHEAD && bytes[0] === SUITE;
  if (!isEnvelope) throw new Problem('integrity_failure');
}

/** The id of the key that an envelope was sealed with. Throws `integrity_failure` when it is no envelope. */
export function envelopeKeyId(envelope: Uint8Array): number {
  requireEnvelope(envelope);
  const [, b3 = 0, b2 = 0, b1 = 0, b0 = 0] = envelope;
  return ((b3 << 24) | (b2 << 16) | (b1 << 8) | b0) >>> 0;
}

/** The bytes in an envelope; the caller wipes them. Throws `integrity_failure` when key, context or bytes are not those of the seal. */
export function openEnvelope(sodium: Sodium, key: Uint8Array, context: Uint8Array, envelope: Uint8Array): Uint8Array {
  requireEnvelope(envelope);
  const nonce = envelope.subarray(NONCE_AT, CIPHERTEXT_AT);
  const ciphertext = envelope.subarray(CIPHERTEXT_AT);
  try {
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(null, ciphertext, context, nonce, key);
  } catch (cause) {
    throw new Problem('integrity_failure', { cause });
  }
}
