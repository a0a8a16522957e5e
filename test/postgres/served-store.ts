import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { archiveFile } from '../../src/cli/files/archive-file.ts';
import { pruneAudit } from '../../src/history/prune-audit.ts';
import { openVaultAdmin, type VaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openForKeyHolder } from '../../src/vault/key-holder.ts';
import { openVaultAt, parseStore, type StoreLocation, type VaultLocation } from '../../src/vault/location.ts';
import { createStoreVault } from '../../src/vault/store-vault.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { CREDENTIAL, callVault, RULE } from '../unit/vault-admin-fixture.ts';
import { createDatabase } from './create-database.ts';
import { openTestClient } from './write-queue-fixture.ts';

export const SOUND = { ok: true, findings: [] };
/** The number of tokens that each daemon creates. The second one also deletes a token. */
const TOKENS = 14;

/** The number of rows that `pruneWith` removes at a time. */
const STEP = 3;

let database: Promise<string> | undefined;
let schemas = 0;

export async function newStore(): Promise<StoreLocation> {
  database ??= createDatabase();
  return parseStore(`${await database}?sslmode=disable&schema=prune_${schemas++}`, true);
}

/** Resolves to a time after all earlier calls and before all later ones. */
export async function between(): Promise<number> {
  await sleep(3);
  const now = Date.now();
  await sleep(3);
  return now;
}

/** Opens the vault as a daemon does. */
export async function serve(location: VaultLocation): Promise<Vault> {
  const vault = await openVaultAt(location, { credential: CREDENTIAL });
  onTestFinished(() => vault.close().catch(() => undefined));
  return vault;
}

export type ServedStore = Awaited<ReturnType<typeof servedStore>>;

/** Creates a vault that three daemons served, one after the other. The third one, `daemon`, still serves. */
export async function servedStore() {
  const folder = await mkdtemp(join(tmpdir(), 'vault-prune-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = await newStore();
  const settings = { store, credential: CREDENTIAL, tenantName: 't', weakPassphrase: false };
  const management = (await createStoreVault(settings)).application.key ?? '';
  const one = await serve({ store });
  const body = { name: 'a', type: 'private', rules: [RULE] };
  const apiKey: string = (await callVault(one, management, 'createApplication', { body })).body['key'];
  let client = await openTestClient(store.url);
  const query = async (text: string) => (await client.run({ text })).map((row) => row.join(' '));

  const change = async (vault: Vault, id: string, data: unknown = 'changed') =>
    (await callVault(vault, apiKey, 'updateToken', { id, body: { data } })).status;

  /** Creates tokens one by one, each in its own transaction. */
  async function create(vault: Vault, prefix: string): Promise<void> {
    for (let n = 0; n < TOKENS; n += 1) {
      const token = { id: `${prefix}-${n}`, type: 'token', data: n };
      expect(await callVault(vault, apiKey, 'createToken', { body: token })).toMatchObject({ status: 201 });
    }
  }

  await create(one, 'one');
  await change(one, 'one-11');
  await one.sweep();
  await one.close();
  const first = await between();
  const two = await serve({ store });
  await create(two, 'two');
  await change(two, 'one-10');
  expect(await callVault(two, apiKey, 'deleteToken', { id: 'one-9' })).toMatchObject({ status: 204 });
  await two.sweep();
  await two.close();
  const second = await between();
  const three = await serve({ store });
  await create(three, 'three');
  await change(three, 'one-8');

  const archived = (name: string) => archiveFile('--archive', join(folder, name));

  /** The daemon that serves, and the location of the vault. */
  const state = { daemon: three, at: { store } };

  /** Sets the store to which the vault was moved. The methods then use it. */
  async function use(other: StoreLocation): Promise<void> {
    state.at = { store: other };
    client = await openTestClient(other.url);
  }

  const doctor = (location: VaultLocation = state.at, archives: readonly string[] = []) =>
    checkVaultFile({ ...location, credential: CREDENTIAL, archives: archives.map(archived) });

  async function withAdmin<T>(work: (admin: VaultAdmin) => Promise<T>): Promise<T> {
    const admin = await openVaultAdmin({ ...state.at, credential: CREDENTIAL });
    return work(admin).finally(admin.close);
  }

  /** Resolves to the ids of the entries that `GET /logs` lists for a query. */
  async function logged(text: string): Promise<readonly string[]> {
    const parts = { query: [...new URLSearchParams(text)] };
    const { status, body } = await callVault(state.daemon, management, 'listLogs', parts);
    expect(status).toBe(200);
    return (body['data'] as readonly { readonly id: string }[]).map(({ id }) => id);
  }

  /** Runs a prune that removes a few rows at a time. Before each write, calls `before` with the name of its method. */
  async function pruneWith(name: string, before: (method: string) => Promise<void>, until = second) {
    const opened = await openForKeyHolder({ ...state.at, credential: CREDENTIAL });
    const altered: typeof opened.store = {
      ...opened.store,
      async appendAudit(drafts) {
        await before('appendAudit');
        await opened.store.appendAudit(drafts);
      },
      async moveBase(from, base, blinds) {
        // The first move goes nowhere: it shows whether the role may remove rows.
        if (from.sequence !== base.sequence) await before('moveBase');
        return opened.store.moveBase(from, base, blinds);
      },
    };
    const parts = { ...opened, store: altered, yieldToLoop: async () => undefined };
    return pruneAudit(parts, until, () => archived(name), { rows: STEP }).finally(opened.close);
  }

  async function killedPrune(name: string, removals: number): Promise<void> {
    let left = removals;
    const killed = pruneWith(name, async (method) => {
      if (method === 'moveBase' && left-- === 0) throw new Error('killed');
    });
    await expect(killed).rejects.toThrow('killed');
  }

  /** Expects a sound store whose tokens can be changed. */
  async function expectSound(round = 0): Promise<void> {
    await withAdmin(async (admin) => {
      expect(await admin.verifyAudit(), `round ${round}`).toMatchObject({ ok: true });
      expect(await admin.lastEvents(() => true, 1000)).not.toHaveLength(0);
    });
    expect(await doctor(), `round ${round}`).toMatchObject({ ...SOUND, checked: { tokens: 3 * TOKENS - 1 } });
    const { daemon } = state;
    await daemon.sweep();
    expect(await daemon.check()).toEqual([]);
    const ids = ['one-11', 'one-10', 'one-8', 'three-1', `one-${round % 8}`, `two-${round % TOKENS}`];
    for (const id of ids) expect(await change(daemon, id, round), id).toBe(200);
  }

  return Object.assign(state, {
    folder,
    apiKey,
    management,
    /** The time after the end of the first daemon. */
    first,
    use,
    query,
    change,
    firstRow: () => query('SELECT min(sequence) + 1 FROM vault.audit'),
    doctor,
    prune: (name = 'old', before = second) => withAdmin((admin) => admin.pruneAudit(before, archived(name))),
    logged,
    pruneWith,
    killedPrune,
    expectSound,
  });
}
