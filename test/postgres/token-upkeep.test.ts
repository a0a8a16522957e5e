import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ResealedToken } from '../../src/core/key-holder-ports.ts';
import type { KeyIds, Store, TokenRecord } from '../../src/core/ports.ts';
import type { StoredReply } from '../../src/core/reply-ports.ts';
import {
  addApplication,
  addTenant,
  addToken,
  applicationRecord,
  blind,
  createdBy,
  ENTRY,
  endedNames,
  idsOf,
  indexes,
  MONTH,
  NOW,
  removal,
  sealed,
  sweep,
  tokenRecord,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';
import { openTwoStores } from './open-stores.ts';

// Compare bytes by value, since the driver returns a Buffer.
expect.addEqualityTesters([
  (a, b) => (a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : undefined),
]);

// Maintenance must not leave differences: `inspect` compares the index and the counters with the tokens.

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

const KEYS: KeyIds = { key_id: 3, index_key_id: 4 };

/** Adds a tenant with tokens, then newer keys. */
async function addStale(...ids: readonly string[]) {
  const { id: tenantId } = await addTenant(store);
  const tokens: TokenRecord[] = [];
  for (const id of ids) tokens.push(await addToken(store, tenantId, { id }, [`by ${id}`]));
  for (const [key_id, purpose] of [
    [3, 'data'],
    [4, 'index'],
  ] as const) {
    const key = { key_id, purpose, generation: 1, wrapped: sealed(`key ${key_id}`), created_at: NOW };
    await store.addTenantKey(tenantId, key, ENTRY);
  }
  return { tenantId, tokens };
}

function resealed(before: TokenRecord, keys: KeyIds = KEYS): ResealedToken {
  return { before, after: { ...before, ...keys, full: sealed(`anew ${before.id}`) } };
}

describe('sealing again', () => {
  it('keeps the blind indexes of a token that has no new ones, until it is removed', async () => {
    const { tenantId, tokens } = await addStale('a');
    expect(
      await store.resealTokens(
        tenantId,
        tokens.map((token) => resealed(token)),
      ),
    ).toBe(1);
    const [row] = await store.inspectRows('token', tenantId, '', 1);
    expect(row?.indexes).toHaveLength(2);
    for (const token of tokens) expect(await store.deleteToken(tombstoneOf(token), 1, ENTRY)).toBe(true);
    expect(await idsOf(store, { tenant_id: tenantId, all: [{ index_in: [blind('by a')] }] })).toEqual([]);
  });

  it('skips a token that was read under another index key', async () => {
    const { tenantId, tokens } = await addStale('a');
    const others = tokens.map((token) => resealed({ ...token, index_key_id: 1 }));
    expect(await store.resealTokens(tenantId, others)).toBe(0);
    expect(await store.findToken(tenantId, 'a', NOW)).toEqual(tokens[0]);
  });

  it('skips a deleted token', async () => {
    const { tenantId, tokens } = await addStale('a');
    for (const token of tokens) await store.deleteToken(tombstoneOf(token), 1, ENTRY);
    expect(
      await store.resealTokens(
        tenantId,
        tokens.map((token) => resealed(token)),
      ),
    ).toBe(0);
  });

  it('changes nothing when a token is not under the newest keys', async () => {
    const { tenantId, tokens } = await addStale('a', 'b');
    const changes = tokens.map((token, at) => resealed(token, at === 0 ? KEYS : { ...KEYS, key_id: 1 }));
    await expect(store.resealTokens(tenantId, changes)).rejects.toMatchObject({ code: 'write_conflict' });
    for (const token of tokens) expect(await store.findToken(tenantId, token.id, NOW)).toEqual(token);
    expect(await store.countStale(tenantId, KEYS)).toBe(5);
  });

  it('skips deleted tokens when it walks', async () => {
    const { tenantId, tokens } = await addStale('a', 'b', 'c');
    for (const token of tokens.slice(0, 2)) await store.deleteToken(tombstoneOf(token), 1, ENTRY);
    expect(await store.findStaleTokens(tenantId, KEYS, '', 10)).toEqual({ tokens: tokens.slice(2), next: undefined });
  });
});

describe('counters', () => {
  it('do not count a deleted token as active', async () => {
    const { id } = await addTenant(store);
    const token = await addToken(store, id);
    await store.deleteToken(tombstoneOf(token), 1, ENTRY);
    await store.markActive(id, [token.id], MONTH + 1);
    expect((await store.usage(id, MONTH + 1, NOW)).active).toBe(0);
  });

  it('keep the last time of creation', async () => {
    const { id } = await addTenant(store);
    for (const created_at of [NOW - 2, NOW, NOW - 1]) await addToken(store, id, { created_at });
    const token = await addToken(store, id, { created_at: NOW - 3, expires_at: NOW });
    expect(await store.deleteToken(tombstoneOf(token), 1, ENTRY)).toBe(true);
    const { types } = await store.usage(id, MONTH, NOW);
    expect(types).toEqual([{ type: 'token', count: 3, last_created_at: NOW }]);
  });

  it('follow a sweep of more tokens than one transaction removes, earliest expiry first', async () => {
    const { id } = await addTenant(store);
    for (let at = 0; at < 205; at += 1) await addToken(store, id, { expires_at: NOW - at });
    const kept = await addToken(store, id, { expires_at: NOW + 1 });
    expect(await sweep(store, NOW, 204)).toBe(204);
    expect(await store.latestExpiry(NOW)).toBe(NOW);
    expect(await sweep(store, NOW, 204)).toBe(1);
    expect((await store.usage(id, MONTH, NOW)).types).toEqual([
      { type: 'token', count: 1, last_created_at: kept.created_at },
    ]);
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

describe('a sweep of applications', () => {
  it('removes an application once, with its children and its stored replies, and changes the authority', async () => {
    const { id: tenant_id } = await addTenant(store);
    const parent = applicationRecord(tenant_id, { type: 'expiring', expires_at: NOW - 1 });
    const child = applicationRecord(tenant_id, { ...createdBy(parent), expires_at: NOW });
    for (const application of [parent, child]) await addApplication(store, application);
    const reply: StoredReply = {
      tenant_id,
      application_id: child.id,
      key_hash: sealed('key', 32),
      request_hash: sealed('request', 32),
      created_at: NOW,
      key_id: 1,
      sealed: sealed('reply'),
    };
    const token = tokenRecord(tenant_id);
    await store.insertToken(token, indexes(token.id), { deduplicate: false, now: NOW }, { ...ENTRY, reply });
    expect(await store.findReply(tenant_id, child.id, reply.key_hash, NOW)).toEqual(reply);

    const told: (readonly string[])[] = [];
    const ended = removal((removed) => {
      told.push(endedNames(removed).applications);
      return ENTRY;
    });
    const { sequence } = await store.auditHead();
    expect(await sweep(store, NOW, 10, ended)).toBe(1);
    expect(told).toEqual([[`1 ${parent.id}`, `1 ${child.id}`]]);
    expect((await store.auditHead()).sequence).toBe(sequence + 1);
    expect(await store.findReply(tenant_id, child.id, reply.key_hash, NOW)).toBeUndefined();
  });

  it('finds the earliest expiry first', async () => {
    const { id: tenant_id } = await addTenant(store);
    const [late, early] = [NOW, NOW - 1].map((expires_at) =>
      applicationRecord(tenant_id, { type: 'expiring', expires_at }),
    );
    for (const application of [late, early]) if (application) await store.insertApplication(application, ENTRY);
    const found = await store.findExpired('application', NOW, 1, new Set());
    expect(found.map(({ record }) => record)).toEqual([early]);
  });
});
