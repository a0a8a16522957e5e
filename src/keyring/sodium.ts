import type sodium from 'libsodium-wrappers';
import type sumo from 'libsodium-wrappers-sumo';

/** libsodium as the keyring uses it. Synchronous once loaded. */
export type Sodium = typeof sodium;

/** The larger libsodium, for passphrases, sealed exports and their keys. */
export type LargeSodium = typeof sumo;

let loading: Promise<Sodium> | undefined;

/** Loads libsodium on the first call of the process, and never twice. */
export function loadSodium(): Promise<Sodium> {
  loading ??= import('libsodium-wrappers').then(async ({ default: loaded }) => {
    await loaded.ready;
    return loaded;
  });
  return loading;
}

/** Returns the version of libsodium that seals, such as `1.0.20`. */
export async function sodiumVersion(): Promise<string> {
  return (await loadSodium()).SODIUM_VERSION_STRING;
}

export async function loadLargeSodium(): Promise<LargeSodium> {
  const { default: loaded } = await import('libsodium-wrappers-sumo');
  await loaded.ready;
  return loaded;
}
