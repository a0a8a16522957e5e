import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { linkOf, NO_LINK } from '../../src/core/audit/audit-link.ts';
import type { AuditDraft, AuditEntry } from '../../src/core/audit/ports.ts';
import type { Store, TokenRecord, WrappedKey } from '../../src/core/ports.ts';
import type { StoredReply } from '../../src/core/reply-ports.ts';
import {
  addApplication,
  addTenant,
  addToken,
  applicationRecord,
  blind,
  createdBy,
  ENTRY,
  everything,
  FIRST_PAGE,
  idsOf,
  indexes,
  keyRecord,
  MONTH,
  NOW,
  nextId,
  REMOVAL,
  sealed,
  sweep,
  tokenRecord,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { openTwoStores } from './open-twice.ts';

// Changes through two stores on one database, as two daemons make them.

/** The rounds of each test, which CI runs on two versions of PostgreSQL. */
const ROUNDS = 24;
const OPTIONS = { deduplicate: false, now: NOW };

let a: Store;
let b: Store;
beforeAll(async () => {
  [a, b] = await openTwoStores();
});
afterAll(() => Promise.all([a.close(), b.close()]));
afterEach(async () => {
  expect(await a.inspect()).toEqual([]);
});

/** Resolves to the result, or to the code of a problem. */
function codeOf<T>(work: Promise<T>): Promise<T | string> {
  return work.catch((error: { readonly code: string }) => error.code);
}

const newKey = (parts: Partial<WrappedKey> = {}): WrappedKey => ({
  key_id: 3,
  purpose: 'data',
  generation: 1,
  wrapped: sealed('key 3'),
  created_at: NOW,
  ...parts,
});

const insert = (store: Store, token: TokenRecord, given = indexes(token.id), deduplicate = false) =>
  codeOf(store.insertToken(token, given, { deduplicate, now: NOW }, ENTRY).then(({ outcome }) => outcome));
const remove = (store: Store, token: TokenRecord) => store.deleteToken(tombstoneOf(token), token.revision, ENTRY);
const patch = (store: Store, token: TokenRecord, name: string, keys: Partial<TokenRecord> = {}) => {
  const next = { ...token, ...keys, revision: token.revision + 1 };
  return codeOf(store.replaceToken(next, indexes(name), { revision: token.revision, now: NOW }, ENTRY));
};
const total = async (tenantId: string) => (await a.findTokens(everything(tenantId), FIRST_PAGE, NOW)).total;
const found = (tenantId: string, name: string) =>
  idsOf(b, { tenant_id: tenantId, all: [{ index_in: [blind(`fingerprint ${name}`)] }] });

/** Runs a race in all rounds, each with a new tenant; the stores swap roles. */
function races(name: string, race: (tenantId: string, one: Store, two: Store) => Promise<void>): void {
  it(name, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id } = await addTenant(a);
      await (round % 2 === 0 ? race(id, a, b) : race(id, b, a));
    }
  });
}

describe('two stores on one database', () => {
  races('give an id to one of two creates', async (tenantId, one, two) => {
    const token = tokenRecord(tenantId, { id: 'same' });
    const outcomes = await Promise.all([insert(one, token, indexes('x')), insert(two, token, indexes('y'))]);
    expect(outcomes.sort()).toEqual(['id_taken', 'inserted']);
    expect([...(await found(tenantId, 'x')), ...(await found(tenantId, 'y'))]).toEqual(['same']);
  });

  races('do not give an id again while its token is removed', async (tenantId, one, two) => {
    const token = await addToken(one, tenantId);
    expect(await Promise.all([remove(one, token), insert(two, token)])).toEqual([true, 'id_taken']);
    expect(await total(tenantId)).toBe(0);
  });

  races('store one of two equal tokens', async (tenantId, one, two) => {
    const outcomes = await Promise.all(
      [one, two].map((store) => insert(store, tokenRecord(tenantId), indexes('x'), true)),
    );
    expect(outcomes.sort()).toEqual(['duplicate', 'inserted']);
  });

  races('store one of two equal tokens while the index key is replaced', async (tenantId, one, two) => {
    async function insertAnew() {
      await two.addTenantKey(tenantId, newKey({ purpose: 'index' }), ENTRY);
      const given = { ...indexes('new'), former: [blind('fingerprint old')] };
      return insert(two, tokenRecord(tenantId, { index_key_id: 3 }), given, true);
    }
    const outcomes = await Promise.all([insert(one, tokenRecord(tenantId), indexes('old'), true), insertAnew()]);
    expect(['inserted,duplicate', 'write_conflict,inserted']).toContain(outcomes.join());
    expect(await total(tenantId)).toBe(1);
  });

  races('insert one of two lists with common ids', async (tenantId, one, two) => {
    const lists = [
      ['a', 'b', 'c'],
      ['c', 'b', 'd'],
    ].map((ids) =>
      ids.map((id) => ({ token: tokenRecord(tenantId, { id }), indexes: indexes(id), deduplicate: id === 'b' })),
    );
    const [first = [], second = []] = lists;
    const obstacles = await Promise.all([one.insertTokens(first, NOW, ENTRY), two.insertTokens(second, NOW, ENTRY)]);
    expect(obstacles.map(({ length }) => length).sort()).toEqual([0, 2]);
    expect(await total(tenantId)).toBe(3);
  });

  races('make one of two patches', async (tenantId, one, two) => {
    const token = await addToken(one, tenantId);
    const outcomes = await Promise.all([patch(one, token, 'x'), patch(two, token, 'y')]);
    expect(outcomes.sort()).toEqual([false, true]);
    expect([...(await found(tenantId, 'x')), ...(await found(tenantId, 'y'))]).toEqual([token.id]);
  });

  races('make a patch while the token is sealed again', async (tenantId, one, two) => {
    const token = await addToken(one, tenantId);
    await two.addTenantKey(tenantId, newKey(), ENTRY);
    const after = { ...token, key_id: 3, full: sealed('anew') };
    const [isPatched, resealed] = await Promise.all([
      patch(one, token, 'x', { key_id: 3, full: sealed('patched') }),
      two.resealTokens(tenantId, [{ before: token, after }]),
    ]);
    expect(isPatched).toBe(true);
    expect([0, 1]).toContain(resealed);
    const stored = await two.findToken(tenantId, token.id, NOW);
    expect([stored?.revision, Buffer.from(stored?.full ?? []).equals(sealed('patched'))]).toEqual([2, true]);
    // The tenant, its application and the API key.
    expect(await two.countStale(tenantId, { key_id: 3, index_key_id: 2 })).toBe(3);
  });

  races('keep a key under which a token is stored', async (tenantId, one, two) => {
    async function replaceKey() {
      const isAdded = await two.addTenantKey(tenantId, newKey({ purpose: 'index' }), ENTRY);
      return [isAdded, await two.removeTenantKey(tenantId, 2, ENTRY)];
    }
    const [outcome, [isAdded, isRemoved]] = await Promise.all([insert(one, tokenRecord(tenantId)), replaceKey()]);
    expect(isAdded).toBe(true);
    expect(isRemoved).toBe(outcome !== 'inserted');
  });

  races('remove a token once', async (tenantId, one, two) => {
    const token = await addToken(one, tenantId, { expires_at: NOW });
    const [isRemoved, expired] = await Promise.all([remove(one, token), sweep(two, NOW, 10_000)]);
    expect(Number(isRemoved) + expired).toBe(1);
  });

  races('count an active token once a month', async (tenantId, one, two) => {
    const { id } = await addToken(one, tenantId);
    await Promise.all([one, two].map((store) => store.markActive(tenantId, [id], MONTH + 1)));
    expect((await one.usage(tenantId, MONTH + 1, NOW)).active).toBe(1);
  });

  races('leave no application of a removed one', async (tenantId, one, two) => {
    const parent = applicationRecord(tenantId);
    await addApplication(one, parent);
    const child = applicationRecord(tenantId, { ...createdBy(parent), expires_at: NOW + 1 });
    const [, isRemoved] = await Promise.all([
      codeOf(two.insertApplication(child, ENTRY)),
      one.deleteApplication(tenantId, parent.id, 1, REMOVAL),
    ]);
    expect(isRemoved).toBe(true);
    expect(await one.findApplication(tenantId, child.id, NOW)).toBeUndefined();
  });

  races('leave no application of a replaced key', async (tenantId, one, two) => {
    const parent = applicationRecord(tenantId);
    await addApplication(one, parent);
    const child = applicationRecord(tenantId, { ...createdBy(parent), expires_at: NOW + 1 });
    const regenerated = { key: keyRecord(parent, { version: 2 }), removal: REMOVAL };
    const [, isReplaced] = await Promise.all([
      codeOf(addApplication(two, child, { most: 9, now: NOW, latest: NOW + 9 })),
      one.replaceApplication({ ...parent, revision: 2 }, 1, ENTRY, regenerated),
    ]);
    expect(isReplaced).toBe(true);
    expect(await one.findApplication(tenantId, child.id, NOW)).toBeUndefined();
  });

  races('give one creator no more applications than the most', async (tenantId, one, two) => {
    const parent = applicationRecord(tenantId);
    await addApplication(one, parent);
    const mint = (store: Store) => {
      const child = applicationRecord(tenantId, { ...createdBy(parent), expires_at: NOW + 1 });
      return codeOf(addApplication(store, child, { most: 2, now: NOW, latest: NOW + 9 }));
    };
    const codes = await Promise.all([one, two, one, two].map(mint));
    expect(codes.filter((code) => code === 'too_many_requests')).toHaveLength(2);
  });

  races('leave nothing of a removed tenant', async (tenantId, one, two) => {
    const [outcome, isRemoved] = await Promise.all([
      insert(two, tokenRecord(tenantId)),
      one.deleteTenant(tenantId, ENTRY),
    ]);
    expect(isRemoved).toBe(true);
    expect(['inserted', 'unauthenticated']).toContain(outcome);
  });

  races('make one of two changes with one idempotency key', async (tenantId, one, two) => {
    const hashes = { key_hash: sealed(nextId(), 32), request_hash: sealed('request', 32) };
    const reply: StoredReply = {
      tenant_id: tenantId,
      application_id: nextId(),
      ...hashes,
      created_at: NOW,
      key_id: 1,
      sealed: sealed('reply'),
    };
    const audit: AuditDraft = { ...ENTRY, reply };
    const outcomes = await Promise.all(
      [one, two].map((store) => {
        const token = tokenRecord(tenantId);
        return codeOf(store.insertToken(token, indexes(token.id), OPTIONS, audit).then(({ outcome }) => outcome));
      }),
    );
    expect(outcomes.sort()).toEqual(['inserted', 'write_conflict']);
    expect(await total(tenantId)).toBe(1);
  });

  it('link the entries of all these changes', async () => {
    const { sequence: last } = await b.auditHead();
    let [sequence, previous] = [0, NO_LINK];
    let commit: AuditEntry[] = [];
    while (sequence < last) {
      for (const next of await a.readAudit(sequence, 1000)) {
        expect(next.sequence).toBe(sequence + 1);
        sequence = next.sequence;
        commit.push(next);
        if (next.link.length === 0) continue;
        expect(Buffer.compare(next.link, linkOf(previous, commit))).toBe(0);
        [previous, commit] = [next.link, []];
      }
    }
    expect(last).toBeGreaterThan(ROUNDS * 13 * 2);
  });
});
