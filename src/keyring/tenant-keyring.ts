import { randomFillSync } from 'node:crypto';
import { base58 } from '../core/base58.ts';
import type { IndexKey, IndexPurpose, SealContext, TenantKeyring, WrappedKey } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { envelopeKeyId, openEnvelope, openText, SUITE, sealEnvelope, sealText } from './envelope.ts';
import { encodeFields, FieldEncoder, withFields } from './field-encoder.ts';
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
    if (key.generation !== generation) throw new Problem('integrity_failure');
    const bytes = openEnvelope(sodium, wrappingKey, generation, contextOf(tenantId, key), key.wrapped);
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

const BLIND_INDEX_BYTES = 16;
const FINGERPRINT_BYTES = 32;
/** The maximum number of cached blind indexes of containers. */
const MAX_CONTAINERS = 1000;

/** One lock for all tenants of a keyring. Locking is final. */
export class Lock {
  locked = false;

  requireUnlocked(): void {
    if (this.locked) throw new Problem('vault_locked');
  }
}

/**
 * Returns a function that creates the context of a sealed value. It encodes the vault and the tenant once, and reuses
 * the buffer: a context is valid until the next call.
 */
function contextWriter(vault: VaultIdentity, tenantId: string): (context: SealContext, keyId: number) => Uint8Array {
  const encoder = new FieldEncoder(encodeFields('token-vault value', SUITE, vault.format, vault.vault_id, tenantId));
  return ({ table, id, column, revision, clear }, keyId) => encoder.encode(keyId, table, id, column, revision, clear);
}

/** Returns the keyring of one tenant. Its functions throw `vault_locked` once the vault is locked. */
export function tenantKeyring(
  sodium: Sodium,
  vault: VaultIdentity,
  tenantId: string,
  keys: TenantKeys,
  lock: Readonly<Lock>,
): TenantKeyring {
  const writeContext = contextWriter(vault, tenantId);

  function dataKey(keyId: number): Uint8Array {
    lock.requireUnlocked();
    const key = keys.data.get(keyId);
    if (key === undefined) throw new Problem('integrity_failure');
    return key;
  }

  const [newest, ...former] = keys.index.map((key) => indexKey(sodium, key, lock));
  if (newest === undefined) throw new Problem('integrity_failure');

  return {
    keyIds: { key_id: keys.sealing, index_key_id: newest.key_id },
    formerIndexKeys: former,
    blindIndex: newest.blindIndex,
    fingerprint: newest.fingerprint,

    seal(context, plaintext) {
      const key = dataKey(keys.sealing);
      return sealText(sodium, key, keys.sealing, writeContext(context, keys.sealing), plaintext);
    },

    open(context, sealed) {
      const keyId = envelopeKeyId(sealed);
      return openText(sodium, dataKey(keyId), keyId, writeContext(context, keyId), sealed);
    },
  };
}

function indexKey(sodium: Sodium, { key_id, keys }: OpenedIndexKey, lock: Readonly<Lock>): IndexKey {
  /** Caches the blind indexes of containers. Every token is in a container, and a tenant has few of them. */
  const containers = new Map<string, Uint8Array>();

  function hash(purpose: IndexPurpose, value: string): Uint8Array {
    return withFields([value], (message) => sodium.crypto_generichash(BLIND_INDEX_BYTES, message, keys[purpose]));
  }

  return {
    key_id,

    blindIndex(purpose, value) {
      lock.requireUnlocked();
      if (!purpose.startsWith('container')) return hash(purpose, value);
      const name = `${purpose} ${value}`;
      const known = containers.get(name);
      if (known !== undefined) return known;
      if (containers.size >= MAX_CONTAINERS) containers.clear();
      const index = hash(purpose, value);
      containers.set(name, index);
      return index;
    },

    fingerprint(type, source, text) {
      lock.requireUnlocked();
      const hashed = (message: Uint8Array) =>
        sodium.crypto_generichash(FINGERPRINT_BYTES, message, keys.client_fingerprint);
      return base58(withFields([type, source, text], hashed));
    },
  };
}
