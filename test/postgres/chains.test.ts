import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AuditHead, ChainRecorder } from '../../src/core/audit/ports.ts';
import type { Store, WrappedKey } from '../../src/core/ports.ts';
import { openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import type { StoreUrl } from '../../src/store/postgres/store-url.ts';
import { LOSSES } from '../../src/store/rows/channels.ts';
import { addTenant, addToken, ENTRY, entry, NOW, sealed } from '../conformance/store-fixtures.ts';
import { fakeableTimers } from '../fakeable-timers.ts';
import { createTestStore, openTestClient } from './lane-fixture.ts';

fakeableTimers();

const NEW_KEY: WrappedKey = { key_id: 3, purpose: 'data', generation: 1, wrapped: sealed('key'), created_at: NOW };

let url: StoreUrl;
let client: SqlClient;
beforeEach(async () => {
  url = await createTestStore();
  client = await openTestClient(url);
});

/** The root's records about chains, in order. */
let told: string[] = [];
const tell = (text: string) => {
  told.push(text);
  return entry('chain');
};
const placeOf = ({ chain, sequence }: AuditHead) => `${chain}:${sequence}`;
const RECORDER: ChainRecorder = {
  opened: (chain) => tell(`open ${chain}`),
  noted: (heads) => tell(`note ${heads.map(placeOf).join()}`),
  closed: (head) => tell(`close ${placeOf(head)}`),
};

async function openStore(writesOnRoot?: number): Promise<Store> {
  told = [];
  const { store } = await openVaultStore(url, { insecure: true, writesOnRoot });
  store.useChainRecorder(RECORDER);
  onTestFinished(() => store.close());
  return store;
}

const append = (store: Store) => store.appendAudit([ENTRY]);
const query = async (text: string) => (await client.run({ text })).map((row) => row.join(' '));
const ends = async (store: Store) => (await store.auditHeads()).map(placeOf);
const open = () => query('SELECT chain FROM vault.chain WHERE chain > 0 AND closed_at IS NULL ORDER BY chain');
const silence = (chain: number) => query(`UPDATE vault.chain SET heartbeat_at = 0 WHERE chain = ${chain}`);

/** Returns the losses that are reported until the end of the test. */
function lossesOf(): unknown[] {
  const losses: unknown[] = [];
  const onLoss = (loss: unknown) => void losses.push(loss);
  LOSSES.subscribe(onLoss);
  onTestFinished(() => void LOSSES.unsubscribe(onLoss));
  return losses;
}

describe('a process', () => {
  it('opens its own chain with its ninth transaction, which is one round trip from then on', async () => {
    const store = await openStore();
    for (let n = 0; n < 8; n += 1) await append(store);
    expect(await ends(store)).toEqual(['0:8']);
    await append(store);
    await append(store);
    expect([await ends(store), told]).toEqual([['0:9', '1:2'], ['open 1']]);
    const [genesis] = await store.readAudit('1', -1, 1);
    const [opening] = await store.readAudit('0', 8, 1);
    expect([genesis?.sequence, Buffer.compare(genesis?.link ?? ENTRY.sealed, opening?.link ?? ENTRY.sealed)]).toEqual([
      0, 0,
    ]);
  });

  it('changes tenants in the root chain, tokens in its own', async () => {
    const store = await openStore(0);
    const { id } = await addTenant(store);
    await addToken(store, id);
    await store.addTenantKey(id, NEW_KEY, ENTRY);
    expect(await ends(store)).toEqual(['0:3', '1:1']);
  });

  it('closes its chain at its end, and adds its counters to those of the root', async () => {
    const store = await openStore(0);
    const { id } = await addTenant(store);
    await addToken(store, id);
    await addToken(store, id);
    const counters = 'SELECT chain, live FROM vault.token_count';
    expect(await query(counters)).toEqual(['1 2']);
    await store.close();
    expect([told, await open(), await query(counters)]).toEqual([['open 1', 'close 1:2'], [], ['0 2']]);
  });

  it('continues in a new chain when another process closed its chain', async () => {
    const [one, two] = [await openStore(0), await openStore(0)];
    await append(one);
    await silence(1);
    await two.removeExpired(0, 1, { recordExpiry: () => expect.fail(), recordRemoval: () => ENTRY });
    expect([told, await open()]).toEqual([['open 1', 'close 1:1', 'open 2'], ['2']]);
    await Promise.all([append(one), append(one)]);
    expect(await ends(one)).toEqual(['0:4', '1:1', '2:0', '3:2']);
  });

  it('opens its chain when those of earlier days have ended, so that no chain spans this place in the root', async () => {
    const [one, two] = [await openStore(0), await openStore(0)];
    await append(one);
    // Control: a chain of the same day stays open.
    await append(two);
    expect([told, await open()]).toEqual([
      ['open 1', 'open 2'],
      ['1', '2'],
    ]);
    const three = await openStore(0);
    await query('UPDATE vault.chain SET opened_at = opened_at - 86400000 WHERE chain > 0');
    await client.run({ text: 'BEGIN' });
    await client.run({ text: 'SELECT 1 FROM vault.chain WHERE chain = 2 FOR UPDATE' });
    await append(three);
    expect([told, await open()]).toEqual([['close 1:1'], ['2']]);
    expect(await ends(three)).toEqual(['0:4', '1:1', '2:1']);
    await client.run({ text: 'ROLLBACK' });
    for (const store of [three, one, two]) await append(store);
    expect([told, await open()]).toEqual([
      ['close 1:1', 'close 2:1', 'open 3', 'open 4', 'open 5'],
      ['3', '4', '5'],
    ]);
  });

  it('keeps the chain of a process that writes', async () => {
    const [one, two] = [await openStore(0), await openStore(0)];
    await append(one);
    await silence(1);
    await client.run({ text: 'BEGIN' });
    await client.run({ text: 'SELECT 1 FROM vault.chain WHERE chain = 1 FOR UPDATE' });
    await two.removeExpired(0, 1, { recordExpiry: () => expect.fail(), recordRemoval: () => ENTRY });
    await client.run({ text: 'ROLLBACK' });
    expect(await open()).toEqual(['1', '2']);
  });

  it('gives signs of life, and lets the root note its end when it has written', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const store = await openStore(0);
    await append(store);
    await silence(1);
    const beats = async (count: number) => {
      vi.advanceTimersByTime(count * 10_000);
      // The store runs writes in order.
      await store.appendAudit([]);
    };
    await beats(1);
    expect(await query('SELECT heartbeat_at > 0 FROM vault.chain WHERE chain = 1')).toEqual(['true']);
    await beats(2);
    await beats(6);
    expect(told).toEqual(['open 1', 'note 1:1']);
    await append(store);
    await beats(3);
    expect(told).toEqual(['open 1', 'note 1:1', 'note 1:2']);
  });

  it('continues in a new chain when the server has lost the end of its chain', async () => {
    const store = await openStore(0);
    for (let n = 0; n < 4; n += 1) await append(store);
    await query('DELETE FROM vault.audit WHERE chain = 1 AND sequence > 2');
    const losses = lossesOf();
    await Promise.all([append(store), append(store)]);
    expect(await ends(store)).toEqual(['0:3', '1:2', '2:2']);
    expect(told).toEqual(['open 1', 'close 1:2', 'open 2']);
    expect(losses).toEqual([{ chain: '1', missing: 2 }]);
    expect(await query('SELECT closed_at > 0 FROM vault.chain WHERE chain = 1')).toEqual(['true']);
  });

  it('reports a lost chain, and control: not one that another process closed', async () => {
    const store = await openStore(0);
    for (let n = 0; n < 3; n += 1) await append(store);
    const losses = lossesOf();
    await query('UPDATE vault.chain SET closed_at = 1 WHERE chain = 1');
    await append(store);
    expect(losses).toEqual([]);
    await query('DELETE FROM vault.audit WHERE chain = 2; DELETE FROM vault.chain WHERE chain = 2');
    await append(store);
    expect(losses).toEqual([{ chain: '2', missing: 1 }]);
  });
});

describe('a change that destroys keys', () => {
  /** Runs a change while a write of another process, which has stored a token under the key 1, is under way. */
  async function during(change: (store: Store, id: string) => Promise<boolean>) {
    const [store, other] = [await openStore(0), await openStore(0)];
    const { id, tenant, application } = await addTenant(store);
    await store.addTenantKey(id, NEW_KEY, ENTRY);
    const next = { key_id: NEW_KEY.key_id, revision: 2 };
    await store.replaceTenant({ ...tenant, ...next }, 1, ENTRY);
    await store.replaceApplication({ ...application, ...next }, 1, ENTRY);
    await append(other);
    for (const text of [
      'BEGIN',
      'SELECT 1 FROM vault.chain WHERE chain = 1 FOR UPDATE',
      'INSERT INTO vault.token_count SELECT tenant, 1, 1, 1, 2, 1, 1, 1, 0 FROM vault.tenant',
    ]) {
      await client.run({ text });
    }
    const changing = change(store, id);
    const watcher = await openTestClient(url);
    const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%closed_at%'";
    await vi.waitFor(async () => expect(await watcher.run({ text: waiting })).toEqual([[1]]));
    await client.commit();
    return changing;
  }

  it('waits for the writes of other processes, and keeps a key that they use', async () => {
    expect(await during((store, id) => store.removeTenantKey(id, 1, ENTRY))).toBe(false);
  });

  it('removes what they have written for a removed tenant', async () => {
    expect(await during((store, id) => store.deleteTenant(id, ENTRY))).toBe(true);
    expect(await query('SELECT * FROM vault.token_count')).toEqual([]);
  });
});

it('the tokens of a removed tenant are removed in batches by the next sweep', async () => {
  const store = await openStore(0);
  const { id } = await addTenant(store);
  await addToken(store, id, {}, ['x']);
  const many = `INSERT INTO vault.token (tenant, id, type, created_at, revision, key_id, index_key_id, active_month, blinds,
      clear, presented, revealed)
    SELECT tenant, 'many ' || n, 1, 0, 1, 1, 2, 1, blinds, clear, presented, revealed
    FROM vault.token, generate_series(1, 2500) n`;
  await query(many);
  await store.deleteTenant(id, ENTRY);
  expect(await store.inspect()).toEqual([]);
  expect(await query('SELECT count(*) FROM vault.token')).toEqual(['2501']);
  await store.removeExpired(0, 1, { recordExpiry: () => expect.fail(), recordRemoval: () => ENTRY });
  for (const table of ['token', 'token_index', 'purge']) {
    expect(await query(`SELECT count(*) FROM vault.${table}`), table).toEqual(['0']);
  }
});
