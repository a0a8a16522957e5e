import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Store, TokenRecord } from '../../src/core/ports.ts';
import {
  addTenant,
  addToken,
  blind,
  ENTRY,
  indexes,
  MONTH,
  NOW,
  nextId,
  sweep,
  tokenRecord,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';
import { openTwoStores } from './open-twice.ts';

const OPTIONS = { deduplicate: false, now: NOW };

let url: string;
let stores: readonly [Store, Store];
let store: Store;
beforeAll(async () => {
  url = await createDatabase();
  stores = await openTwoStores(url);
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

  it.each(['a\0', '\ud83d'])('of the id %j, which no column can hold, finds no token', async (name) => {
    const { id } = await addTenant(store);
    const token = tokenRecord(id, { id: name });
    await expect(store.insertToken(token, indexes('x'), OPTIONS, ENTRY)).rejects.toThrow(RangeError);
    const list = [{ token, indexes: indexes('x'), deduplicate: false }];
    await expect(store.insertTokens(list, NOW, ENTRY)).rejects.toThrow(RangeError);
    expect(await store.replaceToken(token, indexes('x'), { revision: 1, now: NOW }, ENTRY)).toBe(false);
    expect(await store.deleteToken(tombstoneOf(token), 1, ENTRY)).toBe(false);
    expect(await store.findDuplicate(id, blind('fingerprint x'), name, NOW)).toBeUndefined();
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
});

describe('a sweep of tokens', () => {
  it.each([
    ['type', 99],
    ['expires_at', -(2 ** 53)],
    ['revision', 2 ** 60],
  ])('finds a row with an impossible %s, without a record', async (column, value) => {
    const { id } = await addTenant(store);
    const tokens: TokenRecord[] = [];
    for (let at = 0; at < 3; at += 1) tokens.push(await addToken(store, id, { expires_at: NOW - 1 }));
    const name = tokens[0]?.id ?? '';
    const client = await openClient(url);
    const [[sound] = []] = await client.run({ text: `SELECT ${column} FROM vault.token WHERE id = $1` }, [name]);
    const set = { text: `UPDATE vault.token SET ${column} = $2 WHERE id = $1` };
    await client.run(set, [name, value]);
    const found = await store.findExpired('token', NOW, 10, new Set());
    expect(found.map(({ record }) => record?.id).toSorted()).toEqual([tokens[1]?.id, tokens[2]?.id, undefined]);
    await client.run(set, [name, Number(sound)]);
    expect(await sweep(store, NOW)).toBe(3);
  });
});
