import type sodium from 'libsodium-wrappers';
import type { Wasm } from './wasm-memory.ts';

/**
 * The part of libsodium that the keyring uses: what is not named here is not in the bundle, and takes no part in its start.
 * Everything here is synchronous once loaded.
 */
export type Sodium = Pick<
  typeof sodium,
  'crypto_generichash' | 'crypto_kdf_derive_from_key' | 'memcmp' | 'randombytes_buf'
> & {
  /** What the wrappers are around. */
  readonly libsodium: Wasm;
};

/** What is called below the wrappers (wasm-memory.ts). */
const WASM_FUNCTIONS = [
  '_malloc',
  '_free',
  '_crypto_aead_xchacha20poly1305_ietf_encrypt',
  '_crypto_aead_xchacha20poly1305_ietf_decrypt',
  '_crypto_generichash',
] as const satisfies readonly (keyof Wasm)[];

/** Whether a release of libsodium has all of it. */
function isWasm(value: unknown): value is Wasm {
  if (typeof value !== 'object' || value === null || !('HEAPU8' in value)) return false;
  return WASM_FUNCTIONS.every((name) => typeof Reflect.get(value, name) === 'function');
}

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
