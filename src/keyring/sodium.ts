import type sodium from 'libsodium-wrappers';
import { isWasm, type Wasm } from './wasm-memory.ts';

/** The part of libsodium that the keyring uses. Everything here is synchronous once loaded. */
export type Sodium = Pick<
  typeof sodium,
  | 'crypto_box_seal'
  | 'crypto_box_seal_open'
  | 'crypto_kdf_derive_from_key'
  | 'crypto_scalarmult_base'
  | 'crypto_secretstream_xchacha20poly1305_ABYTES'
  | 'crypto_secretstream_xchacha20poly1305_HEADERBYTES'
  | 'crypto_secretstream_xchacha20poly1305_TAG_FINAL'
  | 'crypto_secretstream_xchacha20poly1305_TAG_MESSAGE'
  | 'crypto_secretstream_xchacha20poly1305_init_pull'
  | 'crypto_secretstream_xchacha20poly1305_init_push'
  | 'crypto_secretstream_xchacha20poly1305_pull'
  | 'crypto_secretstream_xchacha20poly1305_push'
  | 'memcmp'
  | 'randombytes_buf'
> & {
  /** What the wrappers are around. */
  readonly libsodium: Wasm;
};

let loading: Promise<Sodium> | undefined;

async function load(): Promise<Sodium> {
  const { default: loaded } = await import('libsodium-wrappers');
  await loaded.ready;
  const libsodium: unknown = Reflect.get(loaded, 'libsodium');
  if (!isWasm(libsodium)) throw new Error('this release of libsodium-wrappers is not known: it hides its WebAssembly');
  return Object.assign(loaded, { libsodium });
}

/** Loads libsodium on the first call of the process, and never twice. */
export function loadSodium(): Promise<Sodium> {
  loading ??= load();
  return loading;
}
