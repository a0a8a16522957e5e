import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CommitLost, type Outcome, runGroup } from '../../src/store/postgres/lane-transaction.ts';
import { connectTo } from '../../src/store/postgres/open-connections.ts';
import { openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import type { StoreUrl } from '../../src/store/postgres/store-url.ts';
import {
  addTenant,
  applicationRecord,
  entry,
  everything,
  FIRST_PAGE,
  indexes,
  NOW,
  sealed,
  tenantKeys,
  tenantRecord,
  tokenRecord,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { CUTS, type Cut, type CutProxy, startCutProxy } from './cut-proxy.ts';
import { auditTexts, createTestStore, memberOf, openTestClient } from './lane-fixture.ts';

const ROUNDS = 102;

let direct: StoreUrl;
let cutUrl: StoreUrl;
let proxy: CutProxy;
beforeAll(async () => {
  direct = await createTestStore();
  proxy = await startCutProxy(direct.hosts[0]?.port ?? 0);
  cutUrl = { ...direct, hosts: [{ host: '127.0.0.1', port: proxy.port }] };
});
afterAll(() => proxy.close());

const cutOf = (round: number): Cut => CUTS[round % CUTS.length] ?? 'before COMMIT';

describe('a store whose connection is lost at COMMIT', () => {
  it(`makes each change once, in ${ROUNDS} rounds`, async () => {
    const { store } = await openVaultStore(cutUrl, { insecure: true });
    const tenant = tenantRecord();
    const management = applicationRecord(tenant.id, { type: 'management' });
    await store.insertTenant(tenant, tenantKeys(tenant.id), management, entry('tenant'));
    const expected = ['tenant'];

    for (let round = 0; round < ROUNDS; round++) {
      const names = ['a', 'b', 'c', 'd', 'application'].map((name) => `${round} ${name}`);
      const plain = { deduplicate: false, now: NOW };
      const insert = (name: string) =>
        store.insertToken(tokenRecord(tenant.id, { id: name }), indexes(name), plain, entry(name, name));
      const cut = cutOf(round);
      const before = proxy.cuts();
      proxy.arm(cut);
      const [first, second] = [names[0] ?? '', names[1] ?? ''];
      const made = await Promise.all(names.slice(0, 4).map(insert));
      expect(made, cut).toEqual(Array(4).fill({ outcome: 'inserted' }));
      expect(proxy.cuts()).toBe(before + 1);

      proxy.arm(cut);
      await store.insertApplication(applicationRecord(tenant.id), entry(`${round} application`));
      expect(proxy.cuts()).toBe(before + 2);

      proxy.arm(cut);
      const token = tokenRecord(tenant.id, { id: first });
      const replaced = { ...token, revision: 2, full: sealed('again') };
      const [isReplaced, isDeleted] = await Promise.all([
        store.replaceToken(replaced, indexes('again'), { revision: 1, now: NOW }, entry(`${first} replaced`)),
        store.deleteToken(tombstoneOf(tokenRecord(tenant.id, { id: second })), 1, entry(`${second} deleted`)),
        store.markActive(tenant.id, [first], token.active_month + 1),
      ]);
      expect([isReplaced, isDeleted], cut).toEqual([true, true]);
      expect(proxy.cuts()).toBe(before + 3);
      expected.push(...names, `${first} replaced`, `${second} deleted`);
    }

    const client = await openTestClient(direct);
    expect((await auditTexts(client.run, expected)).toSorted()).toEqual(expected.toSorted());
    expect((await store.findTokens(everything(tenant.id), FIRST_PAGE, NOW)).total).toBe(ROUNDS * 3);
    expect((await store.findApplications({ tenant_id: tenant.id }, FIRST_PAGE, NOW)).total).toBe(ROUNDS + 1);
    const { active } = await store.usage(tenant.id, tokenRecord(tenant.id).active_month + 1, NOW);
    expect(active).toBe(ROUNDS);
    expect(await store.inspect()).toEqual([]);
    await store.close();
  }, 60_000);

  it('answers reads', async () => {
    const { store } = await openVaultStore(cutUrl, { insecure: true });
    const { id } = await addTenant(store);
    for (const _ of CUTS) {
      const before = proxy.cuts();
      proxy.arm('after COMMIT');
      // Only a list, of all reads, ends with COMMIT.
      expect((await store.findTokens(everything(id), FIRST_PAGE, NOW)).total).toBe(0);
      expect((await store.findTokens(everything(id), FIRST_PAGE, NOW)).total).toBe(0);
      expect(proxy.cuts()).toBe(before + 1);
    }
    await store.close();
  });
});

describe('without looking at the audit', () => {
  let client: SqlClient;
  let row = 0;
  beforeAll(async () => {
    client = await connectTo(direct, 10_000, { insecure: true });
  });
  afterAll(() => client.close());

  /** Runs a member whose connection is cut, and guesses whether it was written. */
  async function guess(cut: Cut, isWritten: boolean) {
    row += 1;
    const lane = await connectTo(cutUrl, 10_000, { insecure: true });
    const member = memberOf(row);
    proxy.arm(cut);
    const lost = await runGroup(lane, [member]).catch((error: unknown) => error);
    if (!(lost instanceof CommitLost)) throw new Error('COMMIT was not lost');
    const all = new Set(lost.entries.map(({ sequence }) => sequence));
    const [outcome] = lost.settle(isWritten ? all : new Set());
    // The server may still roll back.
    await client.run({ text: 'SELECT 1 FROM vault.chain FOR UPDATE' });
    const repeated = async (): Promise<readonly Outcome[]> => runGroup(client, [member]);
    const result = outcome?.state === 'again' ? (await repeated())[0] : outcome;
    const entries = await client.run({ text: 'SELECT count(*) FROM vault.audit WHERE sealed = $1' }, [
      member.audit?.sealed,
    ]);
    return { result, entries: entries[0]?.[0] };
  }

  it.each(CUTS.slice(1))('a change that was written is refused when it runs again: %s', async (cut) => {
    expect(await guess(cut, false)).toEqual({ result: { state: 'done', result: 'refused' }, entries: 1 });
  });

  it('a change that was not written is lost', async () => {
    expect(await guess('before COMMIT', true)).toMatchObject({ result: { state: 'done' }, entries: 0 });
  });
});

describe('a store whose server does not answer', () => {
  it('reports that the outcome is unknown', async () => {
    const { store } = await openVaultStore(cutUrl, { insecure: true });
    const { id } = await addTenant(store);
    proxy.arm('after COMMIT');
    proxy.refuse(true);
    const insert = store.insertToken(
      tokenRecord(id),
      indexes('x'),
      { deduplicate: false, now: NOW },
      entry('unsettled'),
    );
    await expect(insert).rejects.toMatchObject({ code: 'write_unsettled' });
    proxy.refuse(false);
    await store.close();
  });
});
