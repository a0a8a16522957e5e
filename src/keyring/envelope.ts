import { Problem } from '../core/problem.ts';
import { NONCE_BYTES, takeNonce } from './nonce-pool.ts';
import type { Sodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';
import { release, reserve } from './wasm-memory.ts';

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
  const { libsodium: wasm } = sodium;
  requireKey(key);
  const envelope = new Uint8Array(plaintext.length + ENVELOPE_OVERHEAD);
  envelope[0] = SUITE;
  envelope[1] = keyId >>> 24;
  envelope[2] = keyId >>> 16;
  envelope[3] = keyId >>> 8;
  envelope[4] = keyId;
  takeNonce(sodium, envelope, NONCE_AT);
  const { length } = plaintext;
  const size = KEY_BYTES + NONCE_BYTES + context.length + length + length + TAG_BYTES;
  const at = reserve(wasm, size);
  try {
    const nonceAt = at + KEY_BYTES;
    const contextAt = nonceAt + NONCE_BYTES;
    const plaintextAt = contextAt + context.length;
    const sealedAt = plaintextAt + length;
    const heap = wasm.HEAPU8;
    heap.set(key, at);
    heap.set(envelope.subarray(NONCE_AT, CIPHERTEXT_AT), nonceAt);
    heap.set(context, contextAt);
    heap.set(plaintext, plaintextAt);
    wasm._crypto_aead_xchacha20poly1305_ietf_encrypt(
      sealedAt,
      0,
      plaintextAt,
      length,
      0,
      contextAt,
      context.length,
      0,
      0,
      nonceAt,
      at,
    );
    envelope.set(wasm.HEAPU8.subarray(sealedAt, sealedAt + length + TAG_BYTES), CIPHERTEXT_AT);
    return envelope;
  } finally {
    release(wasm, at, size);
  }
}

function requireKey({ length }: Uint8Array): void {
  if (length !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes`);
}

function requireEnvelope(bytes: Uint8Array): void {
  // What a damaged row has in this place may be no bytes at all.
  const isEnvelope = bytes instanceof Uint8Array && bytes.length >= ENVELOPE_OVERHEAD && bytes[0] === SUITE;
  if (!isEnvelope) throw new Problem('integrity_failure');
}

/** The id of the key that an envelope was sealed with. Throws `integrity_failure` when it is no envelope. */
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
 * What `read` makes of the bytes in an envelope, which are wiped when it returns: it must not keep them. Throws
 * `integrity_failure` when key, context or bytes are not those of the seal.
 */
export function readEnvelope<T>(
  { libsodium: wasm }: Sodium,
  key: Uint8Array,
  context: Uint8Array,
  envelope: Uint8Array,
  read: (bytes: Buffer) => T,
): T {
  requireEnvelope(envelope);
  requireKey(key);
  const length = envelope.length - ENVELOPE_OVERHEAD;
  const size = KEY_BYTES + envelope.length + context.length + length;
  const at = reserve(wasm, size);
  try {
    const envelopeAt = at + KEY_BYTES;
    const contextAt = envelopeAt + envelope.length;
    const plaintextAt = contextAt + context.length;
    const heap = wasm.HEAPU8;
    heap.set(key, at);
    heap.set(envelope, envelopeAt);
    heap.set(context, contextAt);
    const failed = wasm._crypto_aead_xchacha20poly1305_ietf_decrypt(
      plaintextAt,
      0,
      0,
      envelopeAt + CIPHERTEXT_AT,
      length + TAG_BYTES,
      0,
      contextAt,
      context.length,
      0,
      envelopeAt + NONCE_AT,
      at,
    );
    if (failed !== 0) throw new Problem('integrity_failure');
    const { buffer, byteOffset } = wasm.HEAPU8;
    return read(Buffer.from(buffer, byteOffset + plaintextAt, length));
  } finally {
    release(wasm, at, size);
  }
}

/** The bytes in an envelope; the caller wipes them. Throws as `readEnvelope` does. */
export function openEnvelope(sodium: Sodium, key: Uint8Array, context: Uint8Array, envelope: Uint8Array): Uint8Array {
  return readEnvelope(sodium, key, context, envelope, (bytes) => new Uint8Array(bytes));
}
