import type { VaultHeader } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { openEnvelope, sealEnvelope } from './envelope.ts';
import { encodeFields } from './field-encoder.ts';
import type { VaultIdentity } from './header-mac.ts';
import type { Sodium } from './sodium.ts';
import { deriveFromMaster, KEY_BYTES } from './sub-keys.ts';

/**
 * The keys that a new master key takes over from the first one. The hashes of API keys, the MACs of tombstones and of
 * an anchor, and the sealed entries of the audit with their digests cannot be recomputed, so their keys must stay the same.
 */
const CARRIED = ['api_key_hash', 'record_digest', 'audit_sealing', 'tombstone', 'anchor', 'audit_index'] as const;

export type CarriedKeys = Readonly<Record<(typeof CARRIED)[number], Uint8Array>>;

/** The part of a header that opens the keys of a vault. */
export type KeyHeader = VaultIdentity & Pick<VaultHeader, 'carried'>;

/**
 * Returns the carried keys, derived from the first master key or opened from `header.carried` under a later one. The
 * caller wipes the keys.
 */
export function openCarriedKeys(sodium: Sodium, master: Uint8Array, header: KeyHeader): CarriedKeys {
  if (header.carried === undefined) return carriedKeys((name) => deriveFromMaster(sodium, master, name));
  const wrapping = deriveFromMaster(sodium, master, 'carried_wrapping');
  const bytes = openEnvelope(sodium, wrapping, header.generation, carriedContext(header), header.carried);
  wrapping.fill(0);
  if (bytes.length !== CARRIED.length * KEY_BYTES) throw new Problem('integrity_failure');
  const keys = carriedKeys(
    (_name, index) => new Uint8Array(bytes.subarray(index * KEY_BYTES, (index + 1) * KEY_BYTES)),
  );
  bytes.fill(0);
  return keys;
}

function carriedKeys(make: (name: (typeof CARRIED)[number], index: number) => Uint8Array): CarriedKeys {
  return Object.fromEntries(CARRIED.map((name, index) => [name, make(name, index)])) as CarriedKeys;
}

/**
 * Seals the carried keys for the header of a later generation. The key id of the envelope is the generation. The
 * envelope holds
 *
 *     offset  0                32              64                96            128        160
 *             API-key hash 32  records 32      audit sealing 32  tombstone 32  anchor 32  audit index 32
 */
export function sealCarriedKeys(sodium: Sodium, master: Uint8Array, vault: VaultIdentity, keys: CarriedKeys) {
  const bytes = new Uint8Array(CARRIED.length * KEY_BYTES);
  for (const [index, name] of CARRIED.entries()) bytes.set(keys[name], index * KEY_BYTES);
  const wrapping = deriveFromMaster(sodium, master, 'carried_wrapping');
  const sealed = sealEnvelope(sodium, wrapping, vault.generation, carriedContext(vault), bytes);
  bytes.fill(0);
  wrapping.fill(0);
  return sealed;
}

function carriedContext(vault: VaultIdentity): Uint8Array {
  return encodeFields('token-vault carried keys', vault.format, vault.vault_id, vault.generation);
}
