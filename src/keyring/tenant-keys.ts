import type { WrappedKey } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import type { VaultIdentity } from './header-mac.ts';
import type { Sodium } from './sodium.ts';
import { deriveIndexKeys, type IndexKeys } from './sub-keys.ts';
import { unwrapTenantKey } from './tenant-key.ts';

/** One tenant's keys, unwrapped and derived. They are filled with zeros when the vault is locked. */
export interface TenantKeys {
  /** Data-encryption keys by key id. */
  readonly data: ReadonlyMap<number, Uint8Array>;
  /** The newest data key's id: it seals. */
  readonly sealing: number;
  /** Newest first; a rotation that is under way leaves the older ones until no token is found under them. */
  readonly index: readonly OpenedIndexKey[];
}

export interface OpenedIndexKey {
  readonly key_id: number;
  readonly keys: IndexKeys;
}

/** Throws `integrity_failure` unless every key unwraps, no id stands twice and both purposes are there. */
export function openTenantKeys(
  sodium: Sodium,
  wrappingKey: Uint8Array,
  vault: VaultIdentity,
  tenantId: string,
  wrapped: readonly WrappedKey[],
): TenantKeys {
  if (new Set(wrapped.map((key) => key.key_id)).size !== wrapped.length) throw new Problem('integrity_failure');

  const data = new Map<number, Uint8Array>();
  const index: OpenedIndexKey[] = [];
  for (const key of wrapped) {
    const bytes = unwrapTenantKey(sodium, wrappingKey, vault, tenantId, key);
    if (key.purpose === 'data') {
      data.set(key.key_id, bytes);
    } else {
      index.push({ key_id: key.key_id, keys: deriveIndexKeys(sodium, bytes) });
      bytes.fill(0);
    }
  }
  if (data.size === 0 || index.length === 0) throw new Problem('integrity_failure');
  // Ids only grow.
  return { data, sealing: Math.max(...data.keys()), index: index.sort((a, b) => b.key_id - a.key_id) };
}

/** The bytes of all keys, for wiping. */
export function tenantKeyBytes(keys: TenantKeys): readonly Uint8Array[] {
  return [...keys.data.values(), ...keys.index.flatMap((index) => Object.values(index.keys))];
}
