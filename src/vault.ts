import type { Application } from './contract/application.ts';
import type { Call, Reply } from './contract/call.ts';
import { DEFAULT_LIMITS, type Limits } from './contract/limits.ts';
import type { Tenant } from './contract/tenant.ts';
import { createDispatch } from './core/dispatch.ts';
import { Fault } from './core/fault.ts';
import type { Clock, Keyring, Random, Store } from './core/ports.ts';
import { type FoundedTenant, foundTenant, issueManagementKey, showTenants } from './core/tenants/found-tenant.ts';
import { createActivity } from './core/tokens/activity.ts';
import type { World } from './core/world.ts';
import type { Credential } from './keyring/credential.ts';
import { reportError } from './report-error.ts';
import { systemClock } from './system-clock.ts';
import { systemRandom } from './system-random.ts';

const SWEEP_BATCH = 500;

/** An unlocked vault: the one path, and what the holder of the file's key may do without an API key. */
export interface Vault {
  readonly file: string;
  readonly limits: Limits;
  dispatch(call: Call): Promise<Reply>;
  /** Throws the problem that keeps the vault from answering. */
  ready(): Promise<void>;
  createTenant(name: string): Promise<FoundedTenant>;
  listTenants(): Promise<readonly Tenant[]>;
  issueKey(tenantId: string): Promise<Application>;
  /** Removes what has expired; resolves to how many records it removed. */
  sweep(): Promise<number>;
  /** Writes what is under way, closes the file and wipes the keys. */
  close(): Promise<void>;
}

export interface OpenVaultOptions {
  readonly file: string;
  readonly credential: Credential;
  readonly limits?: Limits | undefined;
  /** `included_monthly_active_tokens` of the usage report (decisions §8). */
  readonly includedActiveTokens?: number | undefined;
}

/** Opens a vault file and unlocks its keys. Throws faults: missing, unsafe, foreign, newer or damaged file, wrong credential. */
export async function openVault({ file, credential, ...options }: OpenVaultOptions): Promise<Vault> {
  const [{ openVaultFile }, { unlockKeyring }] = await Promise.all([
    import('./store/sqlite/open-vault-file.ts'),
    import('./keyring/unlock-keyring.ts'),
  ]);
  const { header, store } = await openVaultFile(file);
  try {
    return composeVault({ file, store, keyring: await unlockKeyring(header, credential), ...options });
  } catch (error) {
    await store.close();
    throw error;
  }
}

export interface CreateVaultOptions extends OpenVaultOptions {
  /** The name of the first tenant. */
  readonly tenantName: string;
  readonly weakPassphrase?: boolean;
}

export interface CreatedVault extends FoundedTenant {
  readonly vault: Vault;
}

/** Makes a new vault file with its first tenant. An existing file is never touched; a failure leaves none. */
export async function createVault(options: CreateVaultOptions): Promise<CreatedVault> {
  const [{ createVaultFile }, { openVaultFile }, { createKeyring }] = await Promise.all([
    import('./store/sqlite/create-vault-file.ts'),
    import('./store/sqlite/open-vault-file.ts'),
    import('./keyring/create-keyring.ts'),
  ]);
  const { file, credential, tenantName, weakPassphrase = false } = options;
  const { keyring, header } = await createKeyring(credential, {
    now: systemClock().now(),
    allowWeak: weakPassphrase,
  });
  let founded: FoundedTenant | undefined;
  await createVaultFile(file, header, async (store) => {
    founded = await foundTenant(createWorld({ file, store, keyring }), tenantName);
  });
  if (!founded) throw new Fault('damaged', 'unreachable: the first tenant was not made');
  const { store } = await openVaultFile(file);
  return { vault: composeVault({ file, store, keyring, limits: options.limits }), ...founded };
}

/** What a vault is made of. The system's clock and random source stand in for those that are left out. */
export interface VaultParts {
  readonly file: string;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly limits?: Limits | undefined;
  readonly includedActiveTokens?: number | undefined;
}

const DEFAULT_INCLUDED_ACTIVE_TOKENS = 1000;

function createWorld({ store, keyring, clock, random, limits, includedActiveTokens }: VaultParts): World {
  return {
    store,
    keyring,
    clock: clock ?? systemClock(),
    random: random ?? systemRandom,
    limits: limits ?? DEFAULT_LIMITS,
    activity: createActivity(store),
    includedActiveTokens: includedActiveTokens ?? DEFAULT_INCLUDED_ACTIVE_TOKENS,
    reportError,
  };
}

/** A vault of any store and keyring. */
export function composeVault(parts: VaultParts): Vault {
  const { file, store, keyring } = parts;
  const world = createWorld(parts);
  return {
    file,
    limits: world.limits,
    dispatch: createDispatch(world),
    ready: () => store.ping(),
    createTenant: (name) => foundTenant(world, name),
    listTenants: () => showTenants(world),
    issueKey: (tenantId) => issueManagementKey(world, tenantId),
    sweep: async () => {
      let removed = 0;
      for (;;) {
        const batch = await store.removeExpired(world.clock.now(), SWEEP_BATCH);
        removed += batch;
        if (batch < SWEEP_BATCH) return removed;
      }
    },
    close: async () => {
      await world.activity.flush();
      await store.close();
      keyring.close();
    },
  };
}
