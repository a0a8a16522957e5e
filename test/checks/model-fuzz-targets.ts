import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import type { Call, Reply } from '../../src/contract/call.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import type { Random, Store } from '../../src/core/ports.ts';
import { createKeyring, unlockKeyring } from '../../src/keyring/master-key.ts';
import { createVaultFile } from '../../src/store/sqlite/file/create-vault-file.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { composeVault, type Vault, writeFirstRecords } from '../../src/vault/vault.ts';
import { type SteppingClock, seededRandom } from '../fixed-world.ts';
import type { Draw } from './model-fuzz-bodies.ts';
import type { CreatedTenant } from './model-fuzz-state.ts';
import { type OpenStores, startDaemons } from './start-daemons.ts';

export type Targets = Awaited<ReturnType<typeof openTargets>>;

const KEY = new Uint8Array(32).fill(7);
const CREDENTIAL = { kind: 'key_file', key: KEY } as const;

interface TargetOptions {
  readonly folder: string;
  readonly seed: string;
  readonly clock: SteppingClock;
  readonly tenants: number;
  readonly draw: Draw;
  readonly openStores?: OpenStores | undefined;
}

/** The operations whose results depend on activity. A daemon writes the activity of its reads after the replies. */
const NEED_ACTIVITY: readonly OperationId[] = [
  'getUsageReport',
  'getActivity',
  'deleteToken',
  'listApplicationKeys',
  'getApplicationKey',
];

/** Opens two copies of a vault with one clock and equal random numbers: for daemons, and directly. */
export async function openTargets({ folder, seed, clock, tenants, draw, openStores }: TargetOptions) {
  let created: readonly CreatedTenant[] = [];
  /** The tenant whose key `writeActivity` uses. No step changes it. */
  let reporter: CreatedTenant | undefined;
  const inserted: Parameters<Store['insertTenant']>[] = [];
  const first = join(folder, 'daemon.db');
  // Closing a vault wipes its key, so each vault gets a copy.
  const credential = () => ({ ...CREDENTIAL, key: KEY.slice() });
  const { keyring, header } = await createKeyring(credential(), { now: clock.now() });

  /** Writes the first records of a vault, and passes those of each tenant to `insert` with the entry about them. */
  async function found(store: Store, insert: Store['insertTenant']): Promise<readonly CreatedTenant[]> {
    const random = seededRandom(`${seed}/founding`);
    const parts = { file: first, store: { ...store, insertTenant: insert }, keyring, clock, random };
    const made = [await writeFirstRecords(parts, header, 'reporter')];
    const vault = composeVault(parts);
    for (let index = 0; index < tenants; index++) made.push(await vault.createTenant(`tenant ${index}`));
    return made;
  }

  await createVaultFile(first, header, async (store) => {
    [reporter, ...created] = await found(store, async (...records) => {
      inserted.push(records);
      await store.insertTenant(...records);
    });
  });
  const others = await openStores?.(header, async (store) => {
    // The same records, because the keys of a tenant are not seeded. An entry fits one log only.
    const known = inserted.values();
    await found(store, async (...own) => {
      const [tenant, keys, application] = known.next().value ?? own;
      await store.insertTenant(tenant, keys, application, own[3]);
    });
  });
  keyring.close();
  const second = join(folder, 'direct.db');
  // Copy the closed file, so that both vaults have the same keys and return the same fingerprints.
  copyFileSync(first, second);

  async function open(store: Store, random: Random): Promise<Vault> {
    const keys = await unlockKeyring(header, credential());
    return composeVault({ file: first, store, keyring: keys, clock, random });
  }
  const fileStore = async (file: string) => (await openVaultFile(file)).store;
  const stores = others ?? [await fileStore(first)];
  // The daemons share one random source, so whichever answers draws the same numbers as the other copy.
  const random = seededRandom(seed);
  const served = await Promise.all(stores.map((store) => open(store, random)));
  const direct = await open(await fileStore(second), seededRandom(seed));
  const daemons = await startDaemons(served, draw);
  const { call: callDirect } = directClient(direct);

  /** Requests a report from each of several daemons: before a report, a daemon writes its activity. */
  async function writeActivity(): Promise<void> {
    if (served.length === 1) return;
    const apiKey = reporter?.application.key;
    const report = { operation: 'getActivity', apiKey, params: {}, query: [['months', '1']] } as const;
    await Promise.all(served.map((vault) => vault.dispatch(report)));
  }

  return {
    tenants: created,
    call: async (call: Call): Promise<readonly [daemon: Reply, direct: Reply]> => {
      if (NEED_ACTIVITY.includes(call.operation)) await writeActivity();
      return Promise.all([daemons.call(call), callDirect(call)]);
    },
    callEach: async (call: Call): Promise<readonly Reply[]> =>
      Promise.all([...daemons.callEach(call), callDirect(call)]),
    /** Sends the call to the other copy alone. Resolves to its reply, twice. */
    callDirect: async (call: Call): Promise<readonly [daemon: Reply, direct: Reply]> => {
      const reply = await callDirect(call);
      return [reply, reply];
    },
    both: async <T>(action: (vault: Vault) => Promise<T>): Promise<readonly [daemon: T, direct: T]> => {
      await writeActivity();
      return Promise.all([action(daemons.vault()), action(direct)]);
    },
    close: async () => {
      await daemons.stop();
      await Promise.all([...served, direct].map((vault) => vault.close()));
    },
  };
}
