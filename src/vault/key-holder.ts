import { createAudit } from '../core/audit/audit.ts';
import { DEFAULT_AUDIT_LEVEL } from '../core/audit/audit-level.ts';
import type { FileStore } from '../core/maintenance-ports.ts';
import type { Clock, Keyring, Store, VaultHeader } from '../core/ports.ts';
import type { Credential } from '../keyring/credential.ts';
import { openClockNote } from '../maintenance/clock-note.ts';
import type { KeyHolder } from '../maintenance/key-holder.ts';
import type { StorePlace } from './place.ts';
import { systemClock, type Times } from './system-clock.ts';

interface Holding {
  readonly credential: Credential;
  /** Default: the clock of the machine, or that of the database. */
  readonly clock?: Clock | undefined;
}

export interface FileHolderOptions extends Holding {
  readonly file: string;
  readonly store?: undefined;
  /** Whether this process already has the file open. */
  readonly isOpenHere?: boolean | undefined;
}

export interface StoreHolderOptions extends Holding {
  readonly store: StorePlace;
  readonly file?: undefined;
}

export type KeyHolderOptions = FileHolderOptions | StoreHolderOptions;

export interface OpenedKeyHolder extends KeyHolder {
  readonly vault_id: string;
  /** Closes the vault and wipes the keys. */
  close(): Promise<void>;
}

export interface OpenedFileHolder extends OpenedKeyHolder {
  readonly store: FileStore;
}

/**
 * Opens a vault for the holder of its key. Its audit is strict: a change is complete only when its entry is durable.
 * Rejects as `openVault` and `openStoreVault` do.
 */
export async function openForKeyHolder(options: KeyHolderOptions): Promise<OpenedKeyHolder> {
  return options.store === undefined ? openFileForKeyHolder(options) : openStoreForKeyHolder(options);
}

/** Opens a vault file as `openForKeyHolder` does. */
export async function openFileForKeyHolder({
  file,
  credential,
  clock,
  isOpenHere,
}: FileHolderOptions): Promise<OpenedFileHolder> {
  const [{ openVaultFile }, { followMasterKey }] = await Promise.all([
    import('../store/sqlite/file/open-vault-file.ts'),
    import('../keyring/follow-master-key.ts'),
  ]);
  const { header, store } = await openVaultFile(file, { isOpenHere });
  return unlock(store, { header, clock }, () => followMasterKey(header, credential, () => store.header()));
}

async function openStoreForKeyHolder({
  store: place,
  credential,
  clock,
}: StoreHolderOptions): Promise<OpenedKeyHolder> {
  const [{ openStore }, { followMasterKey }] = await Promise.all([
    import('./open-store.ts'),
    import('../keyring/follow-master-key.ts'),
  ]);
  const { header, store, times } = await openStore(place);
  return unlock(store, { header, clock, times }, () => followMasterKey(header, credential, () => store.header()));
}

interface Unlocking {
  readonly header: VaultHeader;
  readonly clock: Clock | undefined;
  readonly times?: Times | undefined;
}

async function unlock<Opened extends Store>(
  store: Opened,
  { header: { vault_id }, clock, times }: Unlocking,
  openKeys: () => Promise<Keyring>,
): Promise<OpenedKeyHolder & { readonly store: Opened }> {
  let keyring: Keyring | undefined;
  try {
    keyring = await openKeys();
    // Never start before the last expiry, so that expired records stay hidden when the clock has gone back.
    const { expired_at } = openClockNote({ keyring, vault_id }, await store.clockNote());
    return holding(store, keyring, { vault_id, clock: clock ?? systemClock({ floor: expired_at, times }) });
  } catch (error) {
    await store.close();
    keyring?.close();
    throw error;
  }
}

function holding<Opened extends Store>(
  store: Opened,
  keyring: Keyring,
  { vault_id, clock }: Pick<OpenedKeyHolder, 'vault_id' | 'clock'>,
): OpenedKeyHolder & { readonly store: Opened } {
  const audit = createAudit({ store, keyring, clock, level: DEFAULT_AUDIT_LEVEL, strict: true });
  const close = async () => {
    await store.close();
    keyring.close();
  };
  return { vault_id, store, keyring, clock, audit, close };
}
