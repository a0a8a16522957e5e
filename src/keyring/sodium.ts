import { createRequire } from 'node:module';
import type sodium from 'libsodium-wrappers';
import type sumo from 'libsodium-wrappers-sumo';
import { assertEngine } from '../core/assert-engine.ts';
import { isBytes } from '../core/bytes.ts';
import { loadedOnce } from '../core/loaded-once.ts';

/** The functions of libsodium that the keyring uses. Synchronous once loaded. */
export type Sodium = typeof sodium;

/** The larger libsodium, for passphrases. */
export type LargeSodium = typeof sumo;

/** Loads libsodium at the first call of the process. Later calls resolve to the same library. */
export const loadSodium = loadedOnce(() => load<Sodium>('libsodium-wrappers'));

/** Returns the version of libsodium in use, such as `1.0.20`. */
export async function sodiumVersion(): Promise<string> {
  return (await loadSodium()).SODIUM_VERSION_STRING;
}

export function loadLargeSodium(): Promise<LargeSodium> {
  return load<LargeSodium>('libsodium-wrappers-sumo');
}

async function load<Library extends Sodium>(name: string): Promise<Library> {
  assertEngine();
  // The CommonJS build loads a quarter faster, because it needs no Web Crypto.
  const loaded: Library = createRequire(import.meta.filename)(name);
  await loaded.ready;
  return takingBytesOfAnyRealm(loaded);
}

/**
 * Returns the library such that its functions take bytes of any realm, by a view in its own. libsodium rejects others
 * ("unsupported input type"), and in jsdom a `Buffer` is of another realm. The memory stays the same, so wiping works.
 */
export function takingBytesOfAnyRealm<Library extends Pick<Sodium, 'from_hex'>>(library: Library): Library {
  const Bytes = library.from_hex('00').constructor as typeof Uint8Array;
  if (Buffer.alloc(0) instanceof Bytes && new Uint8Array() instanceof Bytes) return library;
  const own = (value: unknown) =>
    isBytes(value) ? new Bytes(value.buffer, value.byteOffset, value.byteLength) : value;
  const members = Object.entries(library).map(([name, member]: readonly [string, unknown]) => [
    name,
    typeof member === 'function' ? (...args: readonly unknown[]) => member(...args.map(own)) : member,
  ]);
  return Object.fromEntries(members);
}
