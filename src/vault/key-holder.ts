import { createAudit } from '../core/audit/audit.ts';
import { DEFAULT_AUDIT_LEVEL } from '../core/audit/audit-level.ts';
import type { FileStore } from '../core/maintenance-ports.ts';
import type { Clock, Keyring } from '../core/ports.ts';
import type { Credential } from '../keyring/credential.ts';
import { openClockNote } from '../maintenance/clock-note.ts';
import type { KeyHolder } from '../maintenance/key-holder.ts';
import { systemClock } from './system-clock.ts';

export interface KeyHolderOptions {
  readonly file: string;
  readonly credential: Credential;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** Whether this process already has the file open. */
  readonly isOpenHere?: boolean | undefined;
}

export interface OpenedKeyHolder extends KeyHolder {
  readonly vault_id: string;
  readonly store: FileStore;
  /** Closes the file and wipes the keys. */
  close(): Promise<void>;
}

/**
 * Opens a vault for the holder of its key. Its audit is strict: a change is complete only when its entry is on disk.
 * Throws as `openVault` does.
 */
export async function openForKeyHolder({
  file,
  credential,
  clock,
  isOpenHere,
}: KeyHolderOptions): Promise<OpenedKeyHolder> {
  const [{ openVaultFile }, { followMasterKey }] = await Promise.all([
    import('../store/sqlite/file/open-vault-file.ts'),
    import('../keyring/follow-master-key.ts'),
  ]);
  const { header, store } = await openVaultFile(file, { isOpenHere });
  let keyring: Keyring | undefined;
  try {
    keyring = await followMasterKey(header, credential, () => store.header());
    // Never start before the last expiry, so that expired records stay hidden when the machine's clock has gone back.
    const { expired_at } = openClockNote({ keyring, vault_id: header.vault_id }, await store.clockNote());
    return holding(store, keyring, {
      vault_id: header.vault_id,
      clock: clock ?? systemClock({ floor: expired_at }),
    });
  } catch (error) {
    await store.close();
    keyring?.close();
    throw error;
  }
}

function holding(
  store: FileStore,
  keyring: Keyring,
  { vault_id, clock }: Pick<OpenedKeyHolder, 'vault_id' | 'clock'>,
): OpenedKeyHolder {
  const audit = createAudit({ store, keyring, clock, level: DEFAULT_AUDIT_LEVEL, strict: true });
  const close = async () => {
    await store.close();
    keyring.close();
  };
  return { vault_id, store, keyring, clock, audit, close };
}
