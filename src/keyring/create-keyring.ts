import { randomFillSync, randomUUID } from 'node:crypto';
import type { Instant, Keyring, VaultHeader } from '../core/ports.ts';
import { type Credential, checkNewCredential } from './credential.ts';
import { FORMAT, headerMac } from './header-mac.ts';
import { openKeyring } from './keyring.ts';
import { wrapMasterKey } from './slot.ts';
import { loadSodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';

export interface CreateKeyringOptions {
  readonly now: Instant;
  /** Accepts a passphrase of fewer than 12 characters. */
  readonly allowWeak?: boolean | undefined;
  /** The label of the slot: 1 to 40 characters. */
  readonly label?: string | undefined;
}

/**
 * Creates a new vault's keys: a random master key, wrapped for the credential in slot 0. Throws `weak_passphrase`, or
 * `usage` for a key of the wrong length.
 */
export async function createKeyring(
  credential: Credential,
  { now, allowWeak = false, label = '' }: CreateKeyringOptions,
): Promise<{ readonly keyring: Keyring; readonly header: VaultHeader }> {
  checkNewCredential(credential, allowWeak);
  const sodium = await loadSodium();
  const vault = { vault_id: randomUUID(), format: FORMAT, created_at: now, generation: 1 };
  const master = randomFillSync(new Uint8Array(KEY_BYTES));
  try {
    const slots = [await wrapMasterKey(sodium, vault, 0, credential, master, { created_at: now, label })];
    const header = { ...vault, slots, mac: headerMac(sodium, { ...vault, slots }, master) };
    return { keyring: openKeyring(sodium, header, master), header };
  } finally {
    master.fill(0);
  }
}
