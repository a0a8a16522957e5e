import { randomFillSync } from 'node:crypto';
import type { WrappedKey } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { envelopeKeyId, openEnvelope, sealEnvelope } from './envelope.ts';
import { encodeFields } from './field-encoder.ts';
import type { VaultIdentity } from './header-mac.ts';
import type { Sodium } from './sodium.ts';
import { deriveIndexKeys, type IndexKeys, KEY_BYTES } from './sub-keys.ts';

/** The description of a key, to which its wrapped bytes are bound. */
export type KeyLabel = Omit<WrappedKey, 'wrapped' | 'generation'>;

function wrapContext(vault: VaultIdentity, tenantId: string, key: KeyLabel): Uint8Array {
  return encodeFields(
    'token-vault tenant key',
    vault.format,
    vault.vault_id,
    vault.generation,
    tenantId,
    key.key_id,
    key.purpose,
    key.created_at,
  );
}

/**
 * Creates a random key and wraps it under the wrapping key, in an envelope whose key id is the master key's generation.
 */
export function createTenantKey(
  sodium: Sodium,
  wrappingKey: Uint8Array,
  vault: VaultIdentity,
  tenantId: string,
  key: KeyLabel,
): WrappedKey {
  const bytes = randomFillSync(new Uint8Array(KEY_BYTES));
  const wrapped = wrapTenantKey(sodium, wrappingKey, vault, tenantId, key, bytes);
  bytes.fill(0);
  return wrapped;
}

export function wrapTenantKey(
  sodium: Sodium,
  wrappingKey: Uint8Array,
  vault: VaultIdentity,
  tenantId: string,
  { key_id, purpose, created_at }: KeyLabel,
  bytes: Uint8Array,
): WrappedKey {
  const context = wrapContext(vault, tenantId, { key_id, purpose, created_at });
  const wrapped = sealEnvelope(sodium, wrappingKey, vault.generation, context, bytes);
  return { key_id, purpose, generation: vault.generation, wrapped, created_at };
}

/** Returns the bytes of a wrapped key. Throws `integrity_failure` when any part of the key was altered. */
export function unwrapTenantKey(
  sodium: Sodium,
  wrappingKey: Uint8Array,
  vault: VaultIdentity,
  tenantId: string,
  key: WrappedKey,
): Uint8Array {
  if (key.generation !== vault.generation || envelopeKeyId(key.wrapped) !== vault.generation)
    throw new Problem('integrity_failure');
  const bytes = openEnvelope(sodium, wrappingKey, wrapContext(vault, tenantId, key), key.wrapped);
  if (bytes.length !== KEY_BYTES) throw new Problem('integrity_failure');
  return bytes;
}

/** One tenant's keys, unwrapped and derived. Filled with zeros when the vault is locked. */
export interface TenantKeys {
  /** Data-encryption keys by key id. */
  readonly data: ReadonlyMap<number, Uint8Array>;
  /** The id of the newest data key, which seals. */
  readonly sealing: number;
  /** The index keys, newest first. A rotation in progress keeps an older key until no token uses it. */
  readonly index: readonly OpenedIndexKey[];
}

export interface OpenedIndexKey {
  readonly key_id: number;
  readonly keys: IndexKeys;
}

/**
 * Returns a tenant's keys, unwrapped. Throws `integrity_failure` unless every key can be unwrapped, all ids differ, and
 * both purposes have a key.
 */
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
  // Ids only grow, so the newest key has the highest id.
  return { data, sealing: Math.max(...data.keys()), index: index.sort((a, b) => b.key_id - a.key_id) };
}

/** Returns the bytes of all keys, for wiping. */
export function tenantKeyBytes(keys: TenantKeys): readonly Uint8Array[] {
  return [...keys.data.values(), ...keys.index.flatMap((index) => Object.values(index.keys))];
}
