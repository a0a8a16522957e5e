import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import { remoteClient } from '../../src/client/remote.ts';
import type { Application } from '../../src/contract/application.ts';
import type { Call, Client, Reply } from '../../src/contract/call.ts';
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts';
import type { Tenant } from '../../src/contract/tenant.ts';
import type { Store, VaultHeader } from '../../src/core/ports.ts';
import { startDaemon } from '../../src/http/daemon.ts';
import { createKeyring } from '../../src/keyring/create-keyring.ts';
import { unlockKeyring } from '../../src/keyring/unlock-master-key.ts';
import { createVaultFile } from '../../src/store/sqlite/file/create-vault-file.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { composeVault, type Vault } from '../../src/vault/vault.ts';
import { type SteppingClock, seededRandom } from '../fixed-world.ts';

export interface CreatedTenant {
  readonly tenant: Tenant;
  readonly application: Application;
}

/** Two copies of a vault with the same clock and random numbers. A daemon serves one; the other is opened directly. */
export interface Targets {
  readonly tenants: readonly CreatedTenant[];
  /** Sends the call to both vaults. Resolves to both replies. */
  call(call: Call): Promise<readonly [daemon: Reply, direct: Reply]>;
  /** Runs an action that is not a call on both vaults. Resolves to both results. */
  both<T>(action: (vault: Vault) => Promise<T>): Promise<readonly [daemon: T, direct: T]>;
  close(): Promise<void>;
}

const KEY = new Uint8Array(32).fill(7);
const CREDENTIAL = { kind: 'key_file', key: KEY } as const;

export interface TargetOptions {
  readonly folder: string;
  readonly seed: string;
  readonly clock: SteppingClock;
  readonly tenants: number;
  /** Opens another store for the daemon, which `fill` gives its first records. Default: a copy of the file. */
  readonly openStore?: OpenStore | undefined;
}

export type OpenStore = (header: VaultHeader, fill: (store: Store) => Promise<void>) => Promise<Store>;

export async function openTargets({ folder, seed, clock, tenants, openStore }: TargetOptions): Promise<Targets> {
  const created: CreatedTenant[] = [];
  const inserted: Parameters<Store['insertTenant']>[] = [];
  const first = join(folder, 'daemon.db');
  // Closing a vault wipes its key, so each vault gets a copy.
  const credential = () => ({ ...CREDENTIAL, key: KEY.slice() });
  const { keyring, header } = await createKeyring(credential(), { now: clock.now() });
  await createVaultFile(first, header, async (fileStore) => {
    const insertTenant: Store['insertTenant'] = async (...records) => {
      inserted.push(records);
      await fileStore.insertTenant(...records);
    };
    const random = seededRandom(`${seed}/founding`);
    const vault = composeVault({ file: first, store: { ...fileStore, insertTenant }, keyring, clock, random });
    for (let index = 0; index < tenants; index++) created.push(await vault.createTenant(`tenant ${index}`));
  });
  const other = await openStore?.(header, async (store) => {
    for (const records of inserted) await store.insertTenant(...records);
  });
  keyring.close();
  const second = join(folder, 'direct.db');
  // Copy the closed file, so that both vaults have the same keys and return the same fingerprints.
  copyFileSync(first, second);

  async function open(store: Store): Promise<Vault> {
    const keys = await unlockKeyring(header, credential());
    return composeVault({ file: first, store, keyring: keys, clock, random: seededRandom(seed) });
  }
  const fileStore = async (file: string) => (await openVaultFile(file)).store;
  const vaults = [await open(other ?? (await fileStore(first))), await open(await fileStore(second))] as const;
  const [served, direct] = [directClient(vaults[0]), directClient(vaults[1])];
  const ready = async () => undefined;
  const options = { host: '127.0.0.1', port: 0, headerPrefix: 'SVC', log: false as const, version: '0.0.0' };
  const daemon = await startDaemon(served, { ...options, limits: DEFAULT_LIMITS, ready });
  const remote = patient(remoteClient({ url: daemon.url }));
  return {
    tenants: created,
    call: (call) => Promise.all([remote.call(call), direct.call(call)]),
    both: (action) => Promise.all([action(vaults[0]), action(vaults[1])]),
    close: async () => {
      await remote.close();
      await daemon.stop();
      await Promise.all([served.close(), direct.close()]);
    },
  };
}

/** The daemon refuses a peer after 20 failed authentications in a second. Stay below that. */
const MAX_FAILURES = 18;
const WINDOW_MS = 1_100;

function patient(client: Client): Client {
  let failures: number[] = [];
  return {
    call: async (call) => {
      failures = failures.filter((at) => performance.now() - at < WINDOW_MS);
      const [oldest] = failures;
      if (oldest !== undefined && failures.length >= MAX_FAILURES) {
        await new Promise((resolve) => setTimeout(resolve, oldest + WINDOW_MS - performance.now()));
      }
      const reply = await client.call(call);
      if (reply.status === 401) failures.push(performance.now());
      return reply;
    },
    close: () => client.close(),
  };
}
