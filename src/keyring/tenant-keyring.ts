import { base58 } from '../core/base58.ts';
import type { IndexKey, IndexPurpose, SealContext, TenantKeyring } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { envelopeKeyId, openText, SUITE, sealText } from './envelope.ts';
import { encodeFields, FieldEncoder, withFields } from './field-encoder.ts';
import type { VaultIdentity } from './header-mac.ts';
import type { Sodium } from './sodium.ts';
import type { OpenedIndexKey, TenantKeys } from './tenant-key.ts';

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
  return (context, keyId) => {
    encoder.reset();
    encoder.number(keyId);
    encoder.text(context.table);
    encoder.text(context.id);
    encoder.text(context.column);
    encoder.number(context.revision);
    encoder.list(context.clear);
    return encoder.written();
  };
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
      return openText(sodium, dataKey(keyId), writeContext(context, keyId), sealed);
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
