import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AuditEntry } from '../../src/core/audit/ports.ts';
import type { Store, WrappedKey } from '../../src/core/ports.ts';
import { openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import type { StoreUrl } from '../../src/store/postgres/store-url.ts';
import { addTenant, addToken, blind, ENTRY, entry, NOW, sealed } from '../conformance/store-fixtures.ts';
import { createTestStore, openTestClient } from './write-queue-fixture.ts';

const NEW_KEY: WrappedKey = { key_id: 3, purpose: 'data', generation: 1, wrapped: sealed('key'), created_at: NOW };

let url: StoreUrl;
let client: SqlClient;
beforeEach(async () => {
  url = await createTestStore();
  client = await openTestClient(url);
});

async function openStore(): Promise<Store> {
  const { store } = await openVaultStore(url, { insecure: true });
  onTestFinished(() => store.close());
  return store;
}

let count = 0;
/** Appends an entry that no other one equals. */
const append = (store: Store) => {
  count += 1;
  return store.auditHead().then((witness) => store.appendAudit([{ ...entry(`entry ${count}`), witness }]));
};
const query = async (text: string) => (await client.run({ text })).map((row) => row.join(' '));

describe('a process', () => {
  it('appends nothing behind a row that the server has lost', async () => {
    const store = await openStore();
    for (let n = 0; n < 4; n += 1) await append(store);
    const witness = await store.auditHead();
    await query('DELETE FROM vault.audit WHERE sequence > 2');
    await expect(store.appendAudit([{ ...entry('behind'), witness }])).rejects.toMatchObject({
      code: 'write_conflict',
    });
    await append(store);
    expect((await store.auditHead()).sequence).toBe(3);
  });

  it('appends behind a row that another one has replaced nothing, but behind one that a prune removed', async () => {
    const store = await openStore();
    for (let n = 0; n < 3; n += 1) await append(store);
    const third = await store.auditHead();
    await append(store);
    const fourth = await store.auditHead();
    await query('DELETE FROM vault.audit WHERE sequence <= 3');
    await store.appendAudit([{ ...entry('behind a pruned row'), witness: third }]);
    await query('DELETE FROM vault.audit WHERE sequence > 4');
    await query("UPDATE vault.audit SET link = decode(repeat('11', 16), 'hex')");
    await append(store);
    const behind = store.appendAudit([{ ...entry('behind a replaced row'), witness: fourth }]);
    await expect(behind).rejects.toMatchObject({ code: 'write_conflict' });
  });
});

describe('a change that destroys keys', () => {
  /** Runs a change while a write of another process, which has stored a token under the key 1, is under way. */
  async function during(change: (store: Store, id: string) => Promise<boolean>) {
    const store = await openStore();
    const { id, tenant, application } = await addTenant(store);
    await store.addTenantKey(id, NEW_KEY, ENTRY);
    const next = { key_id: NEW_KEY.key_id, revision: 2 };
    await store.replaceTenant({ ...tenant, ...next }, 1, ENTRY);
    await store.replaceApplication({ ...application, ...next }, 1, ENTRY);
    for (const text of [
      'BEGIN',
      'SELECT 1 FROM vault.head FOR UPDATE',
      'INSERT INTO vault.token_count SELECT tenant, 1, 1, 1, 2, 1, 1, 0 FROM vault.tenant',
    ]) {
      await client.run({ text });
    }
    const changing = change(store, id);
    const watcher = await openTestClient(url);
    const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%left_at%'";
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

it('the log index gets no row that a prune has removed since it was read', async () => {
  const store = await openStore();
  for (let n = 0; n < 3; n += 1) await append(store);
  const rows = [1, 2, 3].map((sequence) => ({ sequence, blinds: [blind('actor')] }));
  const [[first], [second]] = await Promise.all([store.readAudit(-1, 1), store.readAudit(1, 1)]);
  expect(await store.moveBase(first as AuditEntry, second as AuditEntry, [])).toBe(true);
  await store.indexLog(rows.slice(0, 2), 0, 2);
  expect(await store.countLogIndex(3)).toBe(0);
  await store.indexLog(rows.slice(2), await store.logIndexEnd(), 3);
  expect([await store.logIndexEnd(), await store.countLogIndex(3)]).toEqual([3, 1]);
});

it('the log index gets no row that the server has lost since it was read', async () => {
  const store = await openStore();
  for (let n = 0; n < 3; n += 1) await append(store);
  await query('DELETE FROM vault.audit WHERE sequence > 1');
  const rows = [1, 2, 3].map((sequence) => ({ sequence, blinds: [blind('actor')] }));
  await store.indexLog(rows, 0, 3);
  expect([await store.logIndexEnd(), await store.countLogIndex(3)]).toEqual([0, 0]);
});

it('the tokens of a removed tenant are removed in batches by the next sweep', async () => {
  const store = await openStore();
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
  await store.purgeTenants?.();
  for (const table of ['token', 'token_index', 'purge']) {
    expect(await query(`SELECT count(*) FROM vault.${table}`), table).toEqual(['0']);
  }
});
