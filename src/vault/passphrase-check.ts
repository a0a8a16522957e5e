import type { VaultHeader } from '../core/ports.ts';
import type { Credential } from '../keyring/credential.ts';
import { openSlot } from '../keyring/master-key.ts';
import { listSlots } from '../keyring/slots.ts';
import type { VaultLocation } from './location.ts';

/**
 * Resolves to a check of passphrases. The check resolves to a credential. It rejects with `wrong_credential` for a
 * passphrase that does not open the vault. Rejects with `wrong_credential` at once if the vault has no passphrase slot.
 * If the vault cannot be read now, the check accepts every passphrase: the command that opens the vault reports why.
 */
export async function passphraseCheck(location: VaultLocation): Promise<(passphrase: string) => Promise<Credential>> {
  const header = await readHeader(location).catch(() => undefined);
  const check = async (passphrase: string): Promise<Credential> => {
    const credential = { kind: 'passphrase', passphrase } as const;
    if (header === undefined) return credential;
    const keys = new Map<string, Uint8Array>();
    try {
      (await openSlot(header, { ...credential, derived: { keys, keeps: true } })).master.fill(0);
    } catch (error) {
      for (const key of keys.values()) key.fill(0);
      throw error;
    }
    return { ...credential, derived: { keys, keeps: false } };
  };
  if (header !== undefined && !listSlots(header).some(({ kind }) => kind === 'passphrase')) await check('');
  return check;
}

async function readHeader(location: VaultLocation): Promise<VaultHeader> {
  const { store, header } =
    location.store === undefined
      ? await (await import('../store/sqlite/file/open-vault-file.ts')).openVaultFile(location.file)
      : await (await import('./open-store.ts')).openStore(location.store);
  await store.close();
  return header;
}
