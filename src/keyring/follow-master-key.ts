import { Fault } from '../core/fault.ts';
import type { Keyring, VaultHeader } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import type { Credential } from './credential.ts';
import { openKeyring } from './keyring.ts';
import { loadSodium } from './sodium.ts';
import { unlockMasterKey } from './unlock-master-key.ts';

/**
 * Returns a keyring that keeps its credential. A served vault thus survives `vault keys rotate --master` by another
 * process: `refresh` unlocks the master key again when the header shows another generation. In memory, the credential
 * reveals no more than the master key does.
 */
export async function followMasterKey(
  header: VaultHeader,
  credential: Credential,
  readHeader: () => Promise<VaultHeader>,
): Promise<Keyring> {
  let { generation } = header;
  const master = await unlockMasterKey(header, credential);
  try {
    return openKeyring(await loadSodium(), header, master, async () => {
      const found = await readHeader();
      if (found.generation === generation) return undefined;
      const next = { vault: found, master: await unlockAgain(found, credential) };
      ({ generation } = found);
      return next;
    });
  } finally {
    master.fill(0);
  }
}

async function unlockAgain(header: VaultHeader, credential: Credential): Promise<Uint8Array> {
  try {
    return await unlockMasterKey(header, credential);
  } catch (cause) {
    if (cause instanceof Fault && cause.code === 'wrong_credential') throw new Problem('vault_locked', { cause });
    throw cause instanceof Fault ? new Problem('integrity_failure', { cause }) : cause;
  }
}
