import { randomFillSync } from 'node:crypto';
import type { KeysOfTenant } from '../core/key-holder-ports.ts';
import type { Instant, VaultHeader } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { openCarriedKeys, sealCarriedKeys } from './carried-keys.ts';
import type { Credential } from './credential.ts';
import { headerMac } from './header-mac.ts';
import { openSlot } from './master-key.ts';
import { wrapMasterKey } from './slot.ts';
import { loadSodium, type Sodium } from './sodium.ts';
import { deriveFromMaster, KEY_BYTES } from './sub-keys.ts';
import { tenantKeyWrapper } from './tenant-keyring.ts';

/**
 * Creates a new random master key with the next generation. Wraps all tenants' keys under it and keeps the carried
 * keys. Keeps only the credential's slot, because the other slots' key-encryption keys are unknown here; `addSlot` adds
 * them again. Throws `wrong_credential`, `damaged`, and the problem `integrity_failure`, which names the tenant,
 * if a key cannot be unwrapped.
 */
export async function replaceMasterKey(
  header: VaultHeader,
  credential: Credential,
  tenants: readonly KeysOfTenant[],
  now: Instant,
): Promise<{ readonly header: VaultHeader; readonly tenants: readonly KeysOfTenant[] }> {
  const sodium = await loadSodium();
  const { master: old, slot, label } = await openSlot(header, credential);
  const next = randomFillSync(new Uint8Array(KEY_BYTES));
  try {
    const { vault_id, format, created_at } = header;
    const vault = { vault_id, format, created_at, generation: header.generation + 1 };
    const keys = openCarriedKeys(sodium, old, header);
    const carried = sealCarriedKeys(sodium, next, vault, keys);
    for (const bytes of Object.values(keys)) bytes.fill(0);
    const slots = [await wrapMasterKey(sodium, vault, slot, credential, next, { created_at: now, label })];
    const mac = headerMac(sodium, { ...vault, slots, carried }, next);
    return {
      header: { ...vault, slots, carried, mac },
      tenants: rewrap(sodium, { header, old }, { vault, next }, tenants),
    };
  } finally {
    old.fill(0);
    next.fill(0);
  }
}

function rewrap(
  sodium: Sodium,
  { header, old }: { readonly header: VaultHeader; readonly old: Uint8Array },
  { vault, next }: { readonly vault: Omit<VaultHeader, 'slots' | 'mac'>; readonly next: Uint8Array },
  tenants: readonly KeysOfTenant[],
): readonly KeysOfTenant[] {
  const from = deriveFromMaster(sodium, old, 'tenant_key_wrapping');
  const to = deriveFromMaster(sodium, next, 'tenant_key_wrapping');
  const [before, after] = [tenantKeyWrapper(sodium, from, header), tenantKeyWrapper(sodium, to, vault)];
  const moved = tenants.map(({ tenant_id, keys }) => ({
    tenant_id,
    keys: keys.map((key) => {
      const bytes = unwrapOrName(before, tenant_id, key);
      const wrapped = after.wrap(tenant_id, key, bytes);
      bytes.fill(0);
      return wrapped;
    }),
  }));
  from.fill(0);
  to.fill(0);
  return moved;
}

function unwrapOrName(
  wrapper: ReturnType<typeof tenantKeyWrapper>,
  tenantId: string,
  key: KeysOfTenant['keys'][number],
): Uint8Array {
  try {
    return wrapper.unwrap(tenantId, key);
  } catch (cause) {
    const detail = `The keys of tenant ${tenantId} cannot be decrypted, so the master key was not replaced.`;
    throw new Problem('integrity_failure', { detail, cause });
  }
}
