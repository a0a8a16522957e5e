import { expect, it } from 'vitest';
import type { Store, TokenCondition, TokenFilter } from '../../src/core/ports.ts';
import { MAX_SET_NUMBER } from '../../src/store/rows/container-sets.ts';
import { addTenant, blind, ENTRY, indexes, NOW, tokenRecord } from './store-fixtures.ts';

/** More than the planner counts before it gives up. */
const MANY = 5_200;
const VISIBLE = 40;
const FEW = 100;

const index = (name: string): TokenCondition => ({ index_in: [blind(name)] });
const either = (...names: readonly string[]): TokenCondition => ({ index_in: names.map(blind) });

/** Queries for values that only hidden tokens have, that visible tokens have, too, and that no token has. */
const QUERIES: Readonly<Record<string, readonly TokenCondition[]>> = {
  'no condition': [],
  'a value': [index('hidden')],
  'a value of some': [index('some')],
  'a value that visible tokens have, too': [index('all')],
  'two values': [index('all'), index('hidden')],
  'one of two values': [either('hidden', 'absent')],
  'a value under two keys, and a type': [either('all', 'absent'), { type_in: ['token'] }],
  'no such value': [{ not: index('hidden') }],
  'one of two conditions': [{ some: [index('hidden'), { type_in: ['bank'] }] }],
  'a type': [{ type_in: ['token'] }],
  'a time': [{ created_in: { from: 0, to: NOW } }],
  'a hidden container': [index('/hidden/')],
  'a hidden container, or a visible one': [either('/hidden/', '/a/')],
};

/** The rules of callers that must not notice the tokens in `/hidden/`. */
const CALLERS: Readonly<Record<string, readonly (readonly TokenCondition[])[]>> = {
  'a container': [[index('/a/')]],
  'two containers': [[index('/a/')], [index('/b/')]],
  'a container of each of two applications': [[index('/a/'), index('/top/')]],
  'a container, and ids in another': [[index('/a/')], [index('/b/'), { id_prefix: 'token' }]],
  'a container and an empty one': [[index('/a/')], [index('/empty/')]],
  'containers without common tokens': [[index('/a/'), index('/b/')]],
};

type Method = 'findTokens' | 'walkTokens' | 'scanTokens';

/** The lists of a store, of which some are synchronous. */
type Lists = {
  readonly [Name in Method]: (
    ...parameters: Parameters<Store[Name]>
  ) => Awaited<ReturnType<Store[Name]>> | ReturnType<Store[Name]>;
};

/** A store, and how to list its tokens while the rows that the statements visit are counted. */
export interface CountedStore {
  readonly store: Store;
  counted(): Promise<{ readonly lists: Lists; visits(): number }>;
}

interface Work {
  readonly visits: number;
  readonly total: number | undefined;
  readonly ids: readonly (readonly string[] | undefined)[];
}

type WorkOf = (all: readonly TokenCondition[], visible: TokenFilter['visible']) => Promise<Work>;

async function addTokens(
  store: Store,
  tenantId: string,
  containers: readonly string[],
  count: number,
  values: readonly string[],
) {
  const tokens = Array.from({ length: count }, (_, n) => {
    const id = `token-${containers[0]}-${n}`;
    const token = tokenRecord(tenantId, { id, created_at: NOW - n });
    return {
      token,
      indexes: indexes(id, ...values.slice(0, n < FEW ? values.length : 2), ...containers),
      deduplicate: false,
    };
  });
  await store.insertTokens(tokens, NOW, ENTRY);
}

/** Adds hidden tokens that have these values, and returns a function that lists in all ways. */
async function fill({ store, counted }: CountedStore, hidden: number, values: readonly string[]): Promise<WorkOf> {
  const { id } = await addTenant(store);
  await addTokens(store, id, ['/hidden/'], 1, values);
  await addTokens(store, id, ['/a/', '/top/'], VISIBLE, ['all']);
  await addTokens(store, id, ['/b/', '/top/'], VISIBLE, ['all']);
  await addTokens(store, id, ['/c/', '/top/', '/hidden/'], hidden, values);
  // Later sets have no number.
  for (let n = 0; n < MAX_SET_NUMBER; n += 1) await addTokens(store, id, [`/other-${n}/`], 1, ['some']);
  await addTokens(store, id, ['/unnumbered/', '/hidden/'], hidden, values);
  const { lists, visits } = await counted();
  return async (all, visible) => {
    const filter = { tenant_id: id, all, visible };
    const before = visits();
    const found = await lists.findTokens(filter, { offset: 0, limit: 20 }, NOW);
    const walked = await lists.walkTokens(filter, { after: undefined, limit: 1000, skip: 0, take: 20 }, NOW);
    const scanned = await lists.scanTokens(filter, { after: undefined, limit: 1000 }, NOW);
    const ids = [found, walked, scanned].map(({ records }) => records?.map((record) => record.id));
    return { visits: visits() - before, total: found.total, ids };
  };
}

/** Tests that lists and searches of a caller with container rules do not depend on hidden tokens. */
export function testHiddenTokens(open: () => Promise<CountedStore>): void {
  it('visit as many rows whether hidden tokens match or not', { timeout: 60_000 }, async () => {
    const none = await fill(await open(), 1, []);
    const many = await fill(await open(), MANY, ['all', 'hidden', 'some']);
    for (const [caller, visible] of Object.entries(CALLERS)) {
      const [few, all] = [await worksOf(none, visible), await worksOf(many, visible)];
      expect(all, caller).toEqual(few);
      expect(
        all.every(({ total, visits }) => total === 0 || visits > VISIBLE),
        caller,
      ).toBe(true);
    }
    const found = await worksOf(many, CALLERS['a container']);
    expect(found.filter(({ total }) => total !== 0).length).toBeGreaterThan(Object.keys(QUERIES).length / 3);
    // Controls: without rules, and with a rule that concerns ids.
    for (const visible of [undefined, [[index('/a/')], [{ id_prefix: 'token-/b/' }]]]) {
      const [few, all] = [await none([index('hidden')], visible), await many([index('hidden')], visible)];
      expect(all.visits).toBeGreaterThan(few.visits + MANY / 2);
    }
  });
}

async function worksOf(list: WorkOf, visible: TokenFilter['visible']) {
  const works: (Work & { readonly query: string })[] = [];
  for (const [query, all] of Object.entries(QUERIES)) works.push({ query, ...(await list(all, visible)) });
  return works;
}
