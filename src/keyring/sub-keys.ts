import type { IndexPurpose } from '../core/ports.ts';
import type { Sodium } from './sodium.ts';

/** The length of every key of the hierarchy, in bytes. */
export const KEY_BYTES = 32;

/**
 * The keys derived from the vault's master key with `crypto_kdf_derive_from_key`. Each key has its own id, which is
 * never reused.
 */
export const MASTER_SUB_KEYS = {
  header_mac: 1,
  api_key_hash: 2,
  record_digest: 3,
  tenant_key_wrapping: 4,
  anchor: 5,
  carried_wrapping: 6,
  audit_sealing: 7,
  tombstone: 8,
  audit_index: 9,
} as const;

/**
 * The keys derived from a tenant's index key: a blind-index key for each purpose, and the key of the fingerprint that
 * clients see.
 */
export const INDEX_SUB_KEYS = {
  fingerprint: 1,
  metadata: 2,
  search: 3,
  container_prefix: 4,
  container: 5,
  client_fingerprint: 6,
} as const satisfies Record<IndexPurpose | 'client_fingerprint', number>;

/** The `ctx` of the derivation, 8 bytes. It keeps the keys of the two tables apart. */
const CONTEXT = { master: 'vaultmst', index: 'vaultidx' } as const;

export function deriveFromMaster(sodium: Sodium, master: Uint8Array, name: keyof typeof MASTER_SUB_KEYS): Uint8Array {
  return sodium.crypto_kdf_derive_from_key(KEY_BYTES, MASTER_SUB_KEYS[name], CONTEXT.master, master);
}

export type IndexKeys = Readonly<Record<keyof typeof INDEX_SUB_KEYS, Uint8Array>>;

export function deriveIndexKeys(sodium: Sodium, indexKey: Uint8Array): IndexKeys {
  const derived = Object.entries(INDEX_SUB_KEYS).map(([name, id]) => [
    name,
    sodium.crypto_kdf_derive_from_key(KEY_BYTES, id, CONTEXT.index, indexKey),
  ]);
  return Object.fromEntries(derived) as IndexKeys;
}
