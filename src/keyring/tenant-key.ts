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
 * Returns the functions that wrap and unwrap the keys of tenants under the wrapping key, in envelopes whose key id is
 * the master key's generation.
 */
export function tenantKeyWrapper(sodium: Sodium, wrappingKey: Uint8Array, vault: VaultIdentity) {
  const { format, vault_id, generation } = vault;

  function contextOf(tenantId: string, { key_id, purpose, created_at }: KeyLabel): Uint8Array {
    const vaultFields = ['token-vault tenant key', format, vault_id, generation] as const;
    return encodeFields(...vaultFields, tenantId, key_id, purpose, created_at);
  }

  function wrap(tenantId: string, { key_id, purpose, created_at }: KeyLabel, bytes: Uint8Array): WrappedKey {
    const context = contextOf(tenantId, { key_id, purpose, created_at });
    const wrapped = sealEnvelope(sodium, wrappingKey, generation, context, bytes);
    return { key_id, purpose, generation, wrapped, created_at };
  }

  /** Returns the bytes of a wrapped key. Throws `integrity_failure` when any part of the key was altered. */
  function unwrap(tenantId: string, key: WrappedKey): Uint8Array {
    if (key.generation !== generation || envelopeKeyId(key.wrapped) !== generation)
      throw new Problem('integrity_failure');
    const bytes = openEnvelope(sodium, wrappingKey, contextOf(tenantId, key), key.wrapped);
    if (bytes.length !== KEY_BYTES) throw new Problem('integrity_failure');
    return bytes;
  }

  /** Returns a new random key, wrapped. */
  function create(tenantId: string, key: KeyLabel): WrappedKey {
    const bytes = randomFillSync(new Uint8Array(KEY_BYTES));
    const wrapped = wrap(tenantId, key, bytes);
    bytes.fill(0);
    return wrapped;
  }

  /**
   * Returns a tenant's keys, unwrapped. Throws `integrity_failure` unless every key can be unwrapped, all ids differ,
   * and both purposes have a key.
   */
  function open(tenantId: string, wrapped: readonly WrappedKey[]): TenantKeys {
    if (new Set(wrapped.map((key) => key.key_id)).size !== wrapped.length) throw new Problem('integrity_failure');

    const data = new Map<number, Uint8Array>();
    const index: OpenedIndexKey[] = [];
    for (const key of wrapped) {
      const bytes = unwrap(tenantId, key);
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

  return { wrap, unwrap, create, open };
}

/** Returns the bytes of all keys, for wiping. */
export function tenantKeyBytes(keys: TenantKeys): readonly Uint8Array[] {
  return [...keys.data.values(), ...keys.index.flatMap((index) => Object.values(index.keys))];
}
