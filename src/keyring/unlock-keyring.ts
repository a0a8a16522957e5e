import type { Keyring, VaultHeader } from '../core/ports.ts';
import type { Credential } from './credential.ts';
import { openKeyring } from './keyring.ts';
import { loadSodium } from './sodium.ts';
import { unlockMasterKey } from './unlock-master-key.ts';

/** The keys of an existing vault. Throws the faults `wrong_credential`, `damaged`, `newer_format`. */
export async function unlockKeyring(header: VaultHeader, credential: Credential): Promise<Keyring> {
  const master = await unlockMasterKey(header, credential);
  try {
    return openKeyring(await loadSodium(), header, master);
  } finally {
    master.fill(0);
  }
}
