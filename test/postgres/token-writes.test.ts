import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import type { StoredReply } from '../../src/core/reply-ports.ts';
import {
  addTenant,
  addToken,
  blind,
  ENTRY,
  indexes,
  MONTH,
  NOW,
  nextId,
  sealed,
  tokenRecord,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { openTwoStores } from './open-stores.ts';

const OPTIONS = { deduplicate: false, now: NOW };

let stores: readonly [Store, Store];
let store: Store;
beforeAll(async () => {
  stores = await openTwoStores();
  [store] = stores;
});
afterAll(() => Promise.all(stores.map((each) => each.close())));
afterEach(async () => {
  expect(await store.inspect()).toEqual([]);
});

describe('a write', () => {
  it.each([nextId(), 'no id', ''])('for the missing tenant %j is rejected as unauthenticated', async (tenantId) => {
    const token = tokenRecord(tenantId);
    for (const deduplicate of [false, true]) {
      const inserting = store.insertToken(token, indexes('x'), { deduplicate, now: NOW }, ENTRY);
      await expect(inserting).rejects.toMatchObject({ code: 'unauthenticated' });
    }
    expect(await store.replaceToken(token, indexes('x'), { revision: 1, now: NOW }, ENTRY)).toBe(false);
    expect(await store.deleteToken(tombstoneOf(token), 1, ENTRY)).toBe(false);
    expect(await store.resealTokens(tenantId, [{ before: token, after: token }])).toBe(0);
    await store.markActive(tenantId, [token.id], MONTH);
  });

  it('rejects a list under an older index key', async () => {
    const { id } = await addTenant(store);
    const token = tokenRecord(id, { index_key_id: 1 });
    const inserting = store.insertTokens([{ token, indexes: indexes('x'), deduplicate: false }], NOW, ENTRY);
    await expect(inserting).rejects.toMatchObject({ code: 'write_conflict' });
  });

  it.each(['a\0', '\ud83d'])('of the id %j, which no column can hold, finds no token', async (name) => {
    const { id } = await addTenant(store);
    const token = tokenRecord(id, { id: name });
    await expect(store.insertToken(token, indexes('x'), OPTIONS, ENTRY)).rejects.toThrow(RangeError);
    const list = [{ token, indexes: indexes('x'), deduplicate: false }];
    await expect(store.insertTokens(list, NOW, ENTRY)).rejects.toThrow(RangeError);
    expect(await store.replaceToken(token, indexes('x'), { revision: 1, now: NOW }, ENTRY)).toBe(false);
    expect(await store.deleteToken(tombstoneOf(token), 1, ENTRY)).toBe(false);
    expect(await store.findDuplicate(id, blind('fingerprint x'), name, NOW)).toBeUndefined();
    expect(await store.findStaleTokens(id, { key_id: 9, index_key_id: 9 }, name, 1)).toEqual({ tokens: [] });
    await store.markActive(id, [name], MONTH);
  });

  it('stores a blind index once', async () => {
    const { id } = await addTenant(store);
    const [f, c, o] = ['f', 'c', 'o'].map(blind) as [Uint8Array, Uint8Array, Uint8Array];
    const given = { fingerprint: f, containers: [c, c], others: [o, o, f] };
    expect(await store.insertToken(tokenRecord(id), given, OPTIONS, ENTRY)).toEqual({ outcome: 'inserted' });
    expect(
      await store.insertTokens([{ token: tokenRecord(id), indexes: given, deduplicate: false }], NOW, ENTRY),
    ).toEqual([]);
    for (const row of await store.inspectRows('token', id, '', 10)) {
      expect(row.indexes.map((each) => Buffer.from(each))).toEqual([f, o, c].map((each) => Buffer.from(each)));
    }
  });

  it('conflicts with a used idempotency key only if it would change something', async () => {
    const { id: tenant_id } = await addTenant(store);
    const reply: StoredReply = {
      tenant_id,
      application_id: nextId(),
      key_hash: sealed('key', 32),
      request_hash: sealed('request', 32),
      created_at: NOW,
      key_id: 1,
      sealed: sealed('reply'),
    };
    const audit = { ...ENTRY, reply };
    const token = tokenRecord(tenant_id);
    await store.insertToken(token, indexes('x'), OPTIONS, audit);
    const next = { ...token, revision: 2 };
    expect(await store.replaceToken(next, indexes('y'), { revision: 7, now: NOW }, audit)).toBe(false);
    const replacing = store.replaceToken(next, indexes('y'), { revision: 1, now: NOW }, audit);
    await expect(replacing).rejects.toMatchObject({ code: 'write_conflict' });
    expect(await store.findToken(tenant_id, token.id, NOW)).toMatchObject({ revision: 1 });
  });
});

describe('a batch of stale tokens', () => {
  it('ends after a megabyte', async () => {
    const { id } = await addTenant(store);
    for (const name of ['a', 'b', 'c']) await addToken(store, id, { id: name, full: sealed(name, 600_000) });
    const current = { key_id: 3, index_key_id: 2 };
    const first = await store.findStaleTokens(id, current, '', 10);
    expect([first.tokens.map((token) => token.id), first.next]).toEqual([['a', 'b'], 'b']);
    const second = await store.findStaleTokens(id, current, 'b', 10);
    expect([second.tokens.map((token) => token.id), second.next]).toEqual([['c'], undefined]);
  });
});
