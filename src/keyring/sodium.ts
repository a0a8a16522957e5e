import { createRequire } from 'node:module';
import type sodium from 'libsodium-wrappers';
import type sumo from 'libsodium-wrappers-sumo';

/** The functions of libsodium that the keyring uses. Synchronous once loaded. */
export type Sodium = typeof sodium;

/** The larger libsodium, for passphrases, sealed exports and their keys. */
export type LargeSodium = typeof sumo;

let loading: Promise<Sodium> | undefined;

/** Loads libsodium at the first call of the process. Later calls resolve to the same library. */
export function loadSodium(): Promise<Sodium> {
  loading ??= load<Sodium>('libsodium-wrappers');
  return loading;
}

/** Returns the version of libsodium in use, such as `1.0.20`. */
export async function sodiumVersion(): Promise<string> {
  return (await loadSodium()).SODIUM_VERSION_STRING;
}

export function loadLargeSodium(): Promise<LargeSodium> {
  return load<LargeSodium>('libsodium-wrappers-sumo');
}

async function load<Library extends Sodium>(name: string): Promise<Library> {
  // The CommonJS build loads a quarter faster, because it needs no Web Crypto.
  const loaded: Library = createRequire(import.meta.filename)(name);
  await loaded.ready;
  return loaded;
}
