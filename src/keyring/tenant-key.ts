import { randomFillSync } from 'node:crypto';
import type { Instant, WrappedKey } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { envelopeKeyId, openEnvelope, sealEnvelope } from './envelope.ts';
import { encodeFields } from './field-encoder.ts';
import type { VaultIdentity } from './header-mac.ts';
import type { Sodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';

type KeyLabel = Omit<WrappedKey, 'wrapped'>;

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

/** A new random key under the wrapping key: an envelope whose key id is the master key's generation. */
export function createTenantKey(
  sodium: Sodium,
  wrappingKey: Uint8Array,
  vault: VaultIdentity,
  tenantId: string,
  key: { readonly key_id: number; readonly purpose: WrappedKey['purpose']; readonly created_at: Instant },
): WrappedKey {
  const bytes = randomFillSync(new Uint8Array(KEY_BYTES));
  const context = wrapContext(vault, tenantId, key);
  const wrapped = sealEnvelope(sodium, wrappingKey, vault.generation, context, bytes);
  bytes.fill(0);
  return { ...key, wrapped };
}

/** The bytes of a wrapped key. Throws `integrity_failure` when anything about it is not as it was made. */
export function unwrapTenantKey(
  sodium: Sodium,
  wrappingKey: Uint8Array,
  vault: VaultIdentity,
  tenantId: string,
  key: WrappedKey,
): Uint8Array {
  if (envelopeKeyId(key.wrapped) !== vault.generation) throw new Problem('integrity_failure');
  const bytes = openEnvelope(sodium, wrappingKey, wrapContext(vault, tenantId, key), key.wrapped);
  if (bytes.length !== KEY_BYTES) throw new Problem('integrity_failure');
  return bytes;
}
