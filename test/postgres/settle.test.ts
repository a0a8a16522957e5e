import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { AuditDraft } from '../../src/core/audit/ports.ts';
import type { Store } from '../../src/core/ports.ts';
import { connectTo } from '../../src/store/postgres/open-connections.ts';
import { openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { PgError } from '../../src/store/postgres/pg-error.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import type { StoreUrl } from '../../src/store/postgres/store-url.ts';
import { openWriteQueue } from '../../src/store/postgres/write-queue.ts';
import { CommitLost, findSettled, runBatch } from '../../src/store/postgres/write-transaction.ts';
import {
  addTenant,
  applicationRecord,
  entry,
  everything,
  FIRST_PAGE,
  indexes,
  NOW,
  sealed,
  tokenRecord,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { CUTS, type Cut, type CutProxy, startCutProxy } from './cut-proxy.ts';
import { auditTexts, createTestStore, openTestClient, openTestQueue, writeOf } from './write-queue-fixture.ts';

let direct: StoreUrl;
let cutUrl: StoreUrl;
let proxy: CutProxy;
beforeAll(async () => {
  direct = await createTestStore();
  proxy = await startCutProxy(direct.hosts[0]?.port ?? 0);
  cutUrl = { ...direct, hosts: [{ host: '127.0.0.1', port: proxy.port }] };
});
afterAll(() => proxy.close());

async function openCut(): Promise<Store> {
  return (await openVaultStore(cutUrl, { insecure: true })).store;
}

describe('a store whose connection is lost at COMMIT', () => {
  beforeAll(async () => {
    direct = await createTestStore();
    cutUrl = { ...direct, hosts: cutUrl.hosts };
  });

  // Check 22 of the store cuts the writes of tokens.
  it.each(CUTS)('makes a change that runs alone once: %s', async (cut) => {
    const store = await openCut();
    const { id } = await addTenant(store);
    const before = proxy.cuts();
    proxy.arm(cut);
    await store.insertApplication(applicationRecord(id), entry(`application ${cut}`));
    expect(proxy.cuts()).toBe(before + 1);
    expect((await store.findApplications({ tenant_id: id }, FIRST_PAGE, NOW)).total).toBe(2);
    expect(await store.inspect()).toEqual([]);
    await store.close();
  });

  it('waits for the end of a transaction that commits later', async () => {
    const store = await openCut();
    const { id } = await addTenant(store);
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      proxy.arm('late COMMIT');
      const insert = store.insertToken(
        tokenRecord(id, { id: name }),
        indexes(name),
        { deduplicate: false, now: NOW },
        entry(name),
      );
      expect(await insert).toEqual({ outcome: 'inserted' });
    }
    await store.close();
  });

  it('writes no entry twice when the whole transaction arrives later', async () => {
    const store = await openCut();
    const { id } = await addTenant(store);
    const token = (name: string) => tokenRecord(id, { id: name });
    const insert = (name: string, draft: AuditDraft) =>
      store.insertToken(token(name), indexes(name), { deduplicate: false, now: NOW }, draft);
    await insert('changed', entry('changed'));
    await insert('deleted', entry('deleted'));
    const changed = { ...token('changed'), revision: 2, full: sealed('again') };
    const works: Readonly<Record<string, (draft: AuditDraft) => Promise<unknown>>> = {
      append: (draft) => store.appendAudit([draft]),
      create: (draft) => insert('created', draft),
      replace: (draft) => store.replaceToken(changed, indexes('again'), { revision: 1, now: NOW }, draft),
      delete: (draft) => store.deleteToken(tombstoneOf(token('deleted')), 1, draft),
    };
    const texts = Object.keys(works);
    for (const [name, work] of Object.entries(works)) {
      const cuts = proxy.cuts();
      proxy.arm('late');
      await work(entry(name));
      await proxy.delivered();
      expect(proxy.cuts()).toBe(cuts + 1);
    }
    const client = await openTestClient(direct);
    const written = await auditTexts(client.run, texts);
    expect(written.filter((text) => text !== 'unknown')).toEqual(texts);
    await store.close();
  });

  it('answers reads', async () => {
    const store = await openCut();
    const { id } = await addTenant(store);
    for (const _ of CUTS) {
      const before = proxy.cuts();
      proxy.arm('after COMMIT');
      // Among the reads, only a list ends with COMMIT.
      expect((await store.findTokens(everything(id), FIRST_PAGE, NOW)).total).toBe(0);
      expect((await store.findTokens(everything(id), FIRST_PAGE, NOW)).total).toBe(0);
      expect(proxy.cuts()).toBe(before + 1);
    }
    await store.close();
  });
});

describe('a queue that does not read the audit', () => {
  let client: SqlClient;
  let row = 0;
  beforeAll(async () => {
    client = await connectTo(direct, 10_000, { insecure: true });
  });
  afterAll(() => client.close());

  async function guess(cut: Cut, isWritten: boolean) {
    row += 1;
    const queue = await connectTo(cutUrl, 10_000, { insecure: true });
    const write = writeOf(row);
    proxy.arm(cut);
    const lost = await runBatch(queue, [write]).catch((error: unknown) => error);
    if (!(lost instanceof CommitLost)) throw new Error('COMMIT was not lost');
    const [outcome] = lost.settle(new Set(isWritten ? lost.drafts : []));
    // The server may still roll back.
    await client.run({ text: 'SELECT 1 FROM vault.head FOR UPDATE' });
    const result = outcome ?? (await runBatch(client, [write]))[0];
    const entries = await client.run({ text: 'SELECT count(*) FROM vault.audit WHERE sealed = $1' }, [
      write.audit?.sealed,
    ]);
    return { result, entries: entries[0]?.[0] };
  }

  it.each(CUTS.slice(1))('refuses a written change that runs again: %s', async (cut) => {
    expect(await guess(cut, false)).toEqual({
      result: { result: 'refused', hasChanged: false },
      entries: 1,
    });
  });

  it('waits for the lock of a transaction that is still open', async () => {
    row += 1;
    const [open, watcher] = [await openTestClient(direct), await openTestClient(direct)];
    const commit = () => Promise.reject(new PgError('LOST'));
    const lost = await runBatch({ ...open, commit }, [writeOf(row)]).catch((error: unknown) => error);
    if (!(lost instanceof CommitLost)) throw new Error('COMMIT was not lost');
    const settled = findSettled(client, lost.drafts);
    const waiting = `SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%left_at%'`;
    await vi.waitFor(async () => expect(await watcher.run({ text: waiting })).toEqual([[1]]));
    await open.commit();
    expect(await settled).toEqual(new Set(lost.drafts));
  });

  it('reports an answer that was lost alone as an error', async () => {
    const lost = new Error('no answer');
    const run: SqlClient['run'] = async (statement, values) => {
      const rows = await client.run(statement, values);
      if (typeof statement === 'object' && statement.name === 'testChange') throw lost;
      return rows;
    };
    row += 1;
    const read = () => ({ hasChanged: true, result: 'made' as const });
    const outcomes = await runBatch({ ...client, run }, [writeOf(row, { read })]);
    expect(outcomes).toMatchObject([{ error: lost }]);
  });

  it('loses a change that was not written', async () => {
    expect(await guess('before COMMIT', true)).toMatchObject({ result: { result: 'made' }, entries: 0 });
  });
});

it('a queue finds a change that arrives even after the audit was read', async () => {
  const write = writeOf(1000);
  const late = await openTestClient(direct);
  let connections = 0;
  async function connect(): Promise<SqlClient> {
    connections += 1;
    const client = await openTestClient(direct);
    if (connections === 1) client.destroy();
    // The second connection has read the audit. Now the statements arrive that the first one lost.
    if (connections === 3) await runBatch(late, [write]);
    return client;
  }
  const queue = openWriteQueue(connect, () => undefined);
  expect(await queue.join(write)).toBe('made');
  expect(connections).toBe(3);
  const count = { text: 'SELECT count(*) FROM vault.audit WHERE sealed = $1' };
  expect(await late.run(count, [write.audit?.sealed])).toEqual([[1]]);
  await queue.close();
});

it('a queue whose server does not answer reports that the outcome is unknown', async () => {
  const queue = openTestQueue(cutUrl, { deadlineMs: 300 });
  expect(await queue.join(writeOf(2000))).toBe('made');
  proxy.arm('after COMMIT');
  proxy.refuse(true);
  await expect(queue.join(writeOf(2001))).rejects.toMatchObject({ code: 'write_unsettled' });
  proxy.refuse(false);
});
