import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InsertObstacle, NewToken } from '../../src/core/insert-ports.ts';
import type { Store } from '../../src/core/ports.ts';
import {
  addTenant,
  blind,
  ENTRY,
  everything,
  FIRST_PAGE,
  indexes,
  NOW,
  tokenRecord,
} from '../conformance/store-fixtures.ts';
import { openTwoStores } from './open-twice.ts';

/** A token of a random list. */
interface Drawn {
  readonly id: string;
  readonly fingerprint: string;
  readonly former: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly deduplicate: boolean;
}

// U+FFFD sorts before U+1F600 by bytes, but after it by UTF-16 units.
const drawn: fc.Arbitrary<Drawn> = fc.record({
  id: fc.constantFrom('a', 'b', 'B', '\u{1f600}', '\ufffd', 'c', 'd', 'e'),
  fingerprint: fc.constantFrom('x', 'y', 'z'),
  former: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 2 }),
  createdAt: fc.constantFrom(NOW, NOW - 1, NOW - 2),
  expiresAt: fc.constantFrom(undefined, undefined, NOW, NOW + 1),
  deduplicate: fc.boolean(),
});

function member(tenantId: string, { id, fingerprint, former, createdAt, expiresAt, deduplicate }: Drawn): NewToken {
  return {
    token: tokenRecord(tenantId, { id, created_at: createdAt, expires_at: expiresAt }),
    indexes: { ...indexes(fingerprint), former: former.map((name) => blind(`fingerprint ${name}`)) },
    deduplicate,
  };
}

describe('a list of tokens', () => {
  let stores: readonly [Store, Store];
  beforeAll(async () => {
    stores = await openTwoStores();
  });
  afterAll(() => Promise.all(stores.map((store) => store.close())));
  const store = () => stores[0];

  async function insertOne(tenantId: string, each: Drawn): Promise<Omit<InsertObstacle, 'at'> | undefined> {
    const { token, indexes: given, deduplicate } = member(tenantId, each);
    const result = await store().insertToken(token, given, { deduplicate, now: NOW }, ENTRY);
    if (result.outcome === 'inserted') return undefined;
    return { duplicate: result.outcome === 'duplicate' ? result.token : undefined };
  }

  const nameOf = ({ at, duplicate }: InsertObstacle) => [at, duplicate?.id];

  it('meets the same obstacles as its tokens when they are inserted one by one', async () => {
    const lists = fc.array(drawn, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.array(drawn, { maxLength: 3 }), lists, async (stored, list) => {
        const [{ id: one }, { id: all }] = [await addTenant(store()), await addTenant(store())];
        for (const each of stored)
          for (const tenant of [one, all]) await insertOne(tenant, { ...each, id: `${each.id}0` });
        const met: InsertObstacle[] = [];
        for (const [at, each] of list.entries()) {
          const obstacle = await insertOne(one, each);
          if (obstacle !== undefined) met.push({ at, ...obstacle });
        }
        const obstacles = await store().insertTokens(
          list.map((each) => member(all, each)),
          NOW,
          ENTRY,
        );
        expect(obstacles.map(nameOf)).toEqual(met.map(nameOf));
        for (const { duplicate } of obstacles) if (duplicate !== undefined) expect(duplicate.tenant_id).toBe(all);
        const [expected, found] = await Promise.all(
          [one, all].map(async (tenant) => (await store().findTokens(everything(tenant), FIRST_PAGE, 0)).total),
        );
        if (met.length === 0) expect(found).toBe(expected);
        else expect(found).toBe((expected ?? 0) - (list.length - met.length));
      }),
      { numRuns: 60 },
    );
  });

  const base: Drawn = {
    id: '',
    fingerprint: 'x',
    former: [],
    createdAt: NOW,
    expiresAt: undefined,
    deduplicate: false,
  };

  it.each<[string, readonly Partial<Drawn>[], string]>([
    ['the first by the bytes of its id', [{ id: '\u{1f600}' }, { id: '\ufffd' }], '\ufffd'],
    ['the oldest', [{ id: 'a' }, { id: 'b', createdAt: NOW - 1 }, { id: 'c' }], 'b'],
    ['one that has not expired', [{ id: 'a', createdAt: NOW - 1, expiresAt: NOW }, { id: 'b' }], 'b'],
    ['one under the newest key', [{ id: 'a', fingerprint: 'y', createdAt: NOW - 1 }, { id: 'b' }], 'b'],
  ])('names %s of several duplicates', async (_, earlier, expected) => {
    const { id: tenantId } = await addTenant(store());
    const last = { ...base, id: 'last', former: ['y'], deduplicate: true };
    const list = [...earlier.map((each) => ({ ...base, ...each })), last].map((each) => member(tenantId, each));
    const obstacles = await store().insertTokens(list, NOW, ENTRY);
    expect(obstacles.map(nameOf)).toEqual([[earlier.length, expected]]);
  });
});
