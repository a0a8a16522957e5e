import { Fault } from '../core/fault.ts';
import type { Instant, Store } from '../core/ports.ts';
import type { CreatedTenant } from '../core/tenants/create-tenant.ts';
import { runningTime } from '../core/timers.ts';
import type { Credential } from '../keyring/credential.ts';
import { createKeyring, followMasterKey } from '../keyring/master-key.ts';
import { connectStore } from '../store/postgres/connect.ts';
import { createVaultStore } from '../store/postgres/open-vault-store.ts';
import { readClock } from '../store/postgres/sql-client.ts';
import { LOSSES, type Loss } from '../store/rows/channels.ts';
import { systemClock } from './clock/system-clock.ts';
import { openTimekeeper } from './clock/timekeeper.ts';
import { keepAnchor } from './keep-anchor.ts';
import type { StoreLocation } from './location.ts';
import { openStore, type StoreWait } from './open-store.ts';
import { reportLoss } from './report-error.ts';
import { composeVault, type Vault, type VaultSettings, writeFirstRecords } from './vault.ts';

const CONNECT_TIMEOUT_MS = 5000;

export interface OpenStoreVaultOptions extends Omit<VaultSettings, 'writerThread'> {
  readonly store: StoreLocation;
  readonly credential: Credential;
  /** A file that records the latest commit, so that an older state of the database is rejected. */
  readonly anchor?: string | undefined;
  /** The wait for a database that is not reachable. Default: fail at once. */
  readonly wait?: StoreWait | undefined;
}

/**
 * Opens a vault in a database and unlocks its keys. Any number of processes can open it at once. Uses the database's
 * clock. Rejects with the faults of `openStore`, or `wrong_credential`.
 */
export async function openStoreVault(options: OpenStoreVaultOptions): Promise<Vault> {
  const { store: location, credential, anchor: path, wait, ...settings } = options;
  const { header, store, times } = await openStore(location, wait);
  try {
    const keyring = await followMasterKey(header, credential, () => store.header());
    const anchor = path === undefined ? undefined : await keepAnchor({ store, keyring }, path);
    const timekeeper = await openTimekeeper({ store, keyring, vault_id: header.vault_id }, times);
    const vault = composeVault({ ...settings, file: location.url.shown, store, keyring, anchor, timekeeper });
    const onLoss = (loss: unknown) => reportLoss(loss as Loss);
    LOSSES.subscribe(onLoss);
    return {
      ...vault,
      async close() {
        LOSSES.unsubscribe(onLoss);
        await vault.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Returns whether a database holds a vault. Rejects with the faults of `openStore` except `store_missing`. */
export async function hasVault(location: StoreLocation): Promise<boolean> {
  try {
    const { store } = await openStore(location);
    await store.close();
    return true;
  } catch (error) {
    if (error instanceof Fault && error.code === 'store_missing') return false;
    throw error;
  }
}

export interface CreateStoreVaultOptions {
  readonly store: StoreLocation;
  readonly credential: Credential;
  /** The name of the first tenant. */
  readonly tenantName: string;
  readonly weakPassphrase: boolean;
  /** The label of the key slot. */
  readonly label?: string | undefined;
  /** The role of the daemons, which may use the tables but not change them. */
  readonly grant?: string | undefined;
}

/**
 * Creates the tables of a vault and its first tenant. Changes nothing when it fails. Rejects with the fault `conflict`
 * for a database that holds a vault.
 */
export async function createStoreVault(options: CreateStoreVaultOptions): Promise<CreatedTenant> {
  const { store: location, credential, tenantName, weakPassphrase, label, grant } = options;
  const now = await timeOf(location);
  const { keyring, header } = await createKeyring(credential, { now: now(), allowWeak: weakPassphrase, label });
  let created: CreatedTenant | undefined;
  try {
    const { url, insecure } = location;
    const clock = systemClock({ times: { wall: now, running: runningTime } });
    const fill = async (store: Store) => {
      created = await writeFirstRecords({ file: url.shown, store, keyring, clock }, header, tenantName);
    };
    await createVaultStore(url, header, fill, { insecure, grant });
  } finally {
    keyring.close();
  }
  if (created === undefined) throw new Error('unreachable: the first tenant was not created');
  return created;
}

/** Reads the time of a database. Resolves to a function that continues this time without the database. */
async function timeOf({ url, insecure }: StoreLocation): Promise<() => Instant> {
  const client = await connectStore(url, { timeout: CONNECT_TIMEOUT_MS, insecure });
  try {
    const offset = (await readClock(client)) - runningTime();
    return () => Math.floor(runningTime() + offset);
  } finally {
    await client.close();
  }
}
