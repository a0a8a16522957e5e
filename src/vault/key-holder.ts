import { createAudit } from '../core/audit/audit.ts';
import { DEFAULT_AUDIT_LEVEL } from '../core/audit/audit-level.ts';
import { createFollower } from '../core/audit/follower.ts';
import type { Context } from '../core/handler.ts';
import type { Keyring, Store, VaultHeader } from '../core/ports.ts';
import type { Clock } from '../core/time.ts';
import type { Credential } from '../keyring/credential.ts';
import { followMasterKey } from '../keyring/master-key.ts';
import { openClockNote } from './clock/clock-note.ts';
import type { Times } from './clock/system-clock.ts';
import { notedClock } from './clock/timekeeper.ts';
import type { StoreLocation } from './location.ts';

/** The parts of an opened vault that a holder of its key uses without the API. Other processes may use the store, too. */
export type KeyHolder = Pick<Context, 'store' | 'keyring' | 'clock' | 'follower' | 'audit'>;

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
  readonly store: StoreLocation;
  readonly file?: undefined;
}

export type KeyHolderOptions = FileHolderOptions | StoreHolderOptions;

export interface OpenedKeyHolder extends KeyHolder {
  readonly vault_id: string;
  /** Closes the vault and wipes the keys. */
  close(): Promise<void>;
}

/**
 * Opens a vault for the holder of its key. Its audit is strict: a change is complete only when its entry is durable.
 * Rejects as `openFileVault` and `openStoreVault` do.
 */
export async function openForKeyHolder(options: KeyHolderOptions): Promise<OpenedKeyHolder> {
  if (options.store === undefined) return openFileForKeyHolder(options);
  const { openStore } = await import('./open-store.ts');
  return unlock(await openStore(options.store), options);
}

/** Opens a vault file as `openForKeyHolder` does. */
export async function openFileForKeyHolder({ file, isOpenHere, ...holding }: FileHolderOptions) {
  const { openVaultFile } = await import('../store/sqlite/file/open-vault-file.ts');
  return unlock(await openVaultFile(file, { isOpenHere }), holding);
}

interface Locked<Opened extends Store> {
  readonly store: Opened;
  readonly header: VaultHeader;
  readonly times?: Times;
}

async function unlock<Opened extends Store>(
  { store, header, times }: Locked<Opened>,
  { credential, clock: given }: Holding,
): Promise<OpenedKeyHolder & { readonly store: Opened }> {
  const { vault_id } = header;
  let keyring: Keyring | undefined;
  const close = async () => {
    await store.close();
    keyring?.close();
  };
  try {
    keyring = await followMasterKey(header, credential, () => store.header());
    // Never start before the last expiry, so that expired records stay hidden when the clock has gone back.
    const note = openClockNote({ keyring, vault_id }, await store.clockNote());
    const clock = given ?? notedClock(note, times);
    const follower = createFollower({ store, keyring });
    const audit = createAudit({ store, keyring, follower, clock, level: DEFAULT_AUDIT_LEVEL, strict: true });
    return { vault_id, store, keyring, clock, follower, audit, close };
  } catch (error) {
    await close();
    throw error;
  }
}
