import { expect, it, onTestFinished } from 'vitest';
import { openFileVault, type Vault } from '../../src/vault/vault.ts';
import { insertRow, type KeptTable, keepRows } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { CREDENTIAL, callVault, fileVault, keyIdOf, prune } from './vault-admin-fixture.ts';

const HISTORIES = 15;
const STEPS = 30;
/** The tables whose rows are put back, each after the tables that it refers to. */
const TABLES = ['application', 'application_key'];
/** The permissions of an application; with the first ones, a list of tokens succeeds. */
const PERMISSIONS = [['token:read'], ['token:create']] as const;

/** What a call with an API key must answer. */
interface Known {
  readonly application: string;
  readonly id: string;
  readonly key: string;
  isLive: boolean;
}

/** A generator of numbers below `limit` (xorshift32). */
function drawing(seed: number): (limit: number) => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}

async function openHistory(seed: number) {
  const draw = drawing(seed);
  const pick = <T>(all: readonly T[]): T | undefined => all[draw(all.length)];
  const { file, folder, management } = await fileVault(0);
  const open = () => openFileVault({ file, credential: CREDENTIAL, reportError: () => undefined });
  // Two processes use the file, and each is opened again from time to time.
  const vaults: Vault[] = [await open(), await open()];
  onTestFinished(async () => void (await Promise.allSettled(vaults.map((vault) => vault.close()))));
  const keys: Known[] = [];
  /** Whether the application of an id may list tokens. */
  const mayList = new Map<string, boolean>();
  const copies: (readonly KeptTable[])[] = [];
  const call: (...parts: OmitVault) => ReturnType<typeof callVault> = (...parts) =>
    callVault(vaults[draw(2)] as Vault, management, ...parts);
  const newestKey = (id: string) => keyIdOf(vaults[draw(2)] as Vault, management, id);
  let archives = 0;

  function add(application: string, { id, key }: { readonly id: string; readonly key: string }): void {
    keys.push({ application, id, key, isLive: true });
  }

  function end(is: (known: Known) => boolean): void {
    for (const known of keys) if (is(known)) known.isLive = false;
  }

  const STEPS_OF: Readonly<Record<string, () => Promise<unknown>>> = {
    async create() {
      const permissions = pick(PERMISSIONS) ?? PERMISSIONS[0];
      const body = { name: 'x', type: 'private', permissions };
      const { id, key }: Pick<Known, 'id' | 'key'> = (await call('createApplication', { body })).body;
      mayList.set(id, permissions === PERMISSIONS[0]);
      add(id, { id: await newestKey(id), key });
    },
    async update() {
      const id = pick([...mayList.keys()]);
      if (id === undefined) return;
      const permissions = pick(PERMISSIONS) ?? PERMISSIONS[0];
      await call('updateApplication', { id, body: { name: 'y', permissions } });
      mayList.set(id, permissions === PERMISSIONS[0]);
    },
    async regenerate() {
      const id = pick([...mayList.keys()]);
      if (id === undefined) return;
      const { key }: { readonly key: string } = (await call('regenerateApplicationKey', { id })).body;
      end(({ application }) => application === id);
      add(id, { id: await newestKey(id), key });
    },
    async delete() {
      const id = pick([...mayList.keys()]);
      if (id === undefined) return;
      await call('deleteApplication', { id });
      mayList.delete(id);
      end(({ application }) => application === id);
    },
    async addKey() {
      const id = pick([...mayList.keys()]);
      const made = id && (await call('createApplicationKey', { id }));
      if (id && made && made.status === 201) add(id, made.body);
    },
    async deleteKey() {
      const known = pick(keys.filter(({ isLive }) => isLive));
      if (known === undefined) return;
      await call('deleteApplicationKey', { params: { id: known.application, key_id: known.id } });
      end(({ id }) => id === known.id);
    },
    copy: async () => copies.push(await keepRows(file)),
    reopen,
    prune: () => prune({ file, folder }, `archive-${archives++}`),
  };

  async function reopen(): Promise<void> {
    const at = draw(2);
    await vaults[at]?.close();
    vaults[at] = await open();
  }

  /** Puts back one row of an older copy that is gone or differs. Returns whether there was one. */
  async function tamper(): Promise<boolean> {
    const copy = pick(copies) ?? [];
    const table = pick(TABLES) ?? '';
    const now = (await keepRows(file)).find((one) => one.table === table)?.rows.map((row) => JSON.stringify(row)) ?? [];
    const older = copy.find((one) => one.table === table)?.rows.filter((row) => !now.includes(JSON.stringify(row)));
    // The day of its last use is no part of a key's record.
    const row = pick((older ?? []).filter((one) => table === 'application' || !isIn(now, one)));
    if (row === undefined) return false;
    await tamperFile(file, (connection) => {
      connection.exec('PRAGMA foreign_keys = OFF');
      connection.prepare<[object]>(`DELETE FROM ${table} WHERE id = @id`).run(row);
      // A later row may have the number of a removed one.
      insertRow(connection, table, { ...row, [table]: 1_000_000 });
    });
    if (draw(2) === 0) await reopen();
    return true;
  }

  return { draw, keys, mayList, vaults, steps: Object.values(STEPS_OF), pick, tamper };
}

const isIn = (rows: readonly string[], row: object) =>
  rows.some((text) => text.includes(JSON.stringify((row as { readonly id: Buffer }).id)));

type OmitVault = Parameters<typeof callVault> extends [unknown, unknown, ...infer Rest] ? Rest : never;

it('calls are answered by the last entry about each record, whatever row is put back', async () => {
  let [tampered, refused] = [0, 0];
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const history = await openHistory(seed);
    let isTampered = false;
    for (let step = 0; step < STEPS && !isTampered; step += 1) {
      await history.pick(history.steps)?.();
      isTampered = step > 6 && history.draw(5) === 0 && (await history.tamper());
      if (isTampered) tampered += 1;
      for (const { key, application, isLive } of history.keys) {
        const expected = isLive ? (history.mayList.get(application) ? 200 : 403) : 401;
        for (const vault of history.vaults) {
          const { status } = await callVault(vault, key, 'listTokens');
          // After a tampering, a call on its record fails, and on a closed tenant each call.
          if (isTampered && status === 500) refused += 1;
          else expect(status, `seed ${seed}, step ${step}`).toBe(expected);
        }
      }
    }
  }
  // Control: older rows were really put back, and used.
  expect(tampered).toBeGreaterThan(HISTORIES / 3);
  expect(refused).toBeGreaterThan(tampered / 2);
}, 60_000);
