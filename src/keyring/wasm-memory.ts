/**
 * libsodium below its wrappers: the functions that every read and write calls. The wrappers take memory for each argument and
 * copy what comes out; here all of a call is in one place, which is taken once. Pointers and lengths are numbers, a length of
 * 64 bits is its two halves.
 */
export interface Wasm {
  /** Another view after the memory has grown. */
  readonly HEAPU8: Uint8Array;
  _malloc(bytes: number): number;
  _free(at: number): void;
  _crypto_aead_xchacha20poly1305_ietf_encrypt(
    ...args: [
      sealed: number,
      sealedLength: 0,
      plaintext: number,
      length: number,
      lengthHigh: 0,
      context: number,
      contextLength: number,
      contextLengthHigh: 0,
      secretNonce: 0,
      nonce: number,
      key: number,
    ]
  ): number;
  _crypto_aead_xchacha20poly1305_ietf_decrypt(
    ...args: [
      plaintext: number,
      plaintextLength: 0,
      secretNonce: 0,
      sealed: number,
      length: number,
      lengthHigh: 0,
      context: number,
      contextLength: number,
      contextLengthHigh: 0,
      nonce: number,
      key: number,
    ]
  ): number;
  _crypto_generichash(
    ...args: [
      hash: number,
      hashLength: number,
      message: number,
      length: number,
      lengthHigh: 0,
      key: number,
      keyLength: number,
    ]
  ): number;
}

/** Enough for nearly every call, in bytes. */
const KEPT = 64 * 1024;

let kept: { readonly wasm: Wasm; readonly at: number } | undefined;

/** Where `bytes` bytes of a call may stand. To be given back with `release`. */
export function reserve(wasm: Wasm, bytes: number): number {
  if (bytes > KEPT) return allocate(wasm, bytes);
  if (kept?.wasm !== wasm) kept = { wasm, at: allocate(wasm, KEPT) };
  return kept.at;
}

/** Throws when the memory cannot grow: at address 0 stands what the module itself lives by. */
function allocate(wasm: Wasm, bytes: number): number {
  const at = wasm._malloc(bytes);
  if (at === 0) throw new RangeError('libsodium has no memory for a value of this size');
  return at;
}

/** Wipes what a call has left: keys, plaintext. */
export function release(wasm: Wasm, at: number, bytes: number): void {
  wasm.HEAPU8.fill(0, at, at + bytes);
  if (at !== kept?.at) wasm._free(at);
}
