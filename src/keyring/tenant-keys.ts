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
  readonly index: IndexKeys;
}

/** The newest key of a purpose: ids only grow. */
function newest(keys: readonly WrappedKey[], purpose: WrappedKey['purpose']): number {
  const ids = keys.filter((key) => key.purpose === purpose).map((key) => key.key_id);
  if (ids.length === 0) throw new Problem('integrity_failure');
  return Math.max(...ids);
}

/** Throws `integrity_failure` unless every key unwraps, no id stands twice and both purposes are there. */
export function openTenantKeys(
  sodium: Sodium,
  wrappingKey: Uint8Array,
  vault: VaultIdentity,
  tenantId: string,
  wrapped: readonly WrappedKey[],
): TenantKeys {
  const sealing = newest(wrapped, 'data');
  const indexing = newest(wrapped, 'index');
  if (new Set(wrapped.map((key) => key.key_id)).size !== wrapped.length) throw new Problem('integrity_failure');

  const data = new Map<number, Uint8Array>();
  let index: IndexKeys | undefined;
  for (const key of wrapped) {
    const bytes = unwrapTenantKey(sodium, wrappingKey, vault, tenantId, key);
    if (key.purpose === 'data') {
      data.set(key.key_id, bytes);
    } else {
      if (key.key_id === indexing) index = deriveIndexKeys(sodium, bytes);
      bytes.fill(0);
    }
  }
  if (index === undefined) throw new Problem('integrity_failure');
  return { data, sealing, index };
}

/** The bytes of all keys, for wiping. */
export function tenantKeyBytes(keys: TenantKeys): readonly Uint8Array[] {
  return [...keys.data.values(), ...Object.values(keys.index)];
}
