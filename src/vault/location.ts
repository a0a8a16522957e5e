import { loadSodium } from '../keyring/sodium.ts';
import { parseStoreUrl, type StoreUrl } from '../store/postgres/store-url.ts';
import type { OpenFileVaultOptions, Vault } from './vault.ts';

/** A database that holds a vault. */
export interface StoreLocation {
  /** The URL as the user wrote it. */
  readonly text: string;
  readonly url: StoreUrl;
  /** Allows connections without TLS to another machine, and servers that lose commits when the power fails. */
  readonly insecure: boolean;
}

/** Where a vault is: in a file of this machine, or in a database. */
export type VaultLocation =
  | { readonly file: string; readonly store?: undefined }
  | { readonly store: StoreLocation; readonly file?: undefined };

/**
 * Parses the URL of a store. Throws the faults `usage` and `store_insecure`. They repeat no part of a malformed URL,
 * because it may hold a password.
 */
export function parseStore(text: string, insecure: boolean): StoreLocation {
  return { text, url: parseStoreUrl(text, { insecure }), insecure };
}

/** Opens a vault in a file or a database. `times` and `cacheKib` apply only to files. Rejects with faults. */
export async function openVaultAt(
  location: VaultLocation,
  options: Omit<OpenFileVaultOptions, 'file'>,
): Promise<Vault> {
  // Let libsodium compile its WebAssembly in another thread while the code that opens the vault loads. Ignore a failure
  // here: the next `loadSodium` call rejects with it.
  loadSodium().catch(() => undefined);
  if (location.store === undefined) {
    const { openFileVault } = await import('./vault.ts');
    return openFileVault({ ...options, file: location.file });
  }
  const { openStoreVault } = await import('./store-vault.ts');
  const { times: _times, cacheKib: _cacheKib, ...settings } = options;
  return openStoreVault({ ...settings, store: location.store });
}
