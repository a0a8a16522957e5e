import { describe, expect, it } from 'vitest';
import { MAX_TOTAL } from '../../src/contract/page.ts';
import type { Store, TokenCondition } from '../../src/core/ports.ts';
import { addTenant, addToken, blind, NOW } from '../conformance/store-fixtures.ts';
import { type Core, openCore, partOfSegment, rule } from './core-fixture.ts';
import { openStore, temporaryVault } from './store-sqlite-fixture.ts';

/** A slice that a read requested, with its turn of the event loop. */
interface Slice {
  readonly kind: 'walk' | 'scan';
  readonly limit: number;
  readonly turn: number;
}

/** Opens a vault whose store leaves every page to walks, like a large one. `store` overrides its methods. */
async function openLarge(store: Partial<Store> = {}) {
  const slices: Slice[] = [];
  let turn = 0;
  const note = (kind: Slice['kind'], limit: number) => {
    const own = turn;
    slices.push({ kind, limit, turn: own });
    setImmediate(() => {
      turn = Math.max(turn, own + 1);
    });
  };
  const storeOf = (file: Store): Store => ({
    ...file,
    findTokens: async (filter, page, now) =>
      filter.all.some((condition) => 'id_in' in condition)
        ? file.findTokens(filter, page, now)
        : { records: undefined, total: undefined },
    walkTokens: (filter, walk, now) => {
      note('walk', walk.limit);
      return (store.walkTokens ?? file.walkTokens)(filter, walk, now);
    },
    scanTokens: (filter, slice, now) => {
      note('scan', slice.limit);
      return file.scanTokens(filter, slice, now);
    },
    ...(store.findTokens && { findTokens: store.findTokens }),
  });
  const core = await openCore({ storeOf });
  return { core, slices };
}

/** Creates tokens, three at each time. */
async function fill({ clock, token }: Core, count: number): Promise<void> {
  for (let made = 0; made < count; made += 3) {
    clock.advance(1);
    const types = ['token', 'card_number', 'token'].slice(0, count - made);
    await Promise.all(types.map((type) => token({ type, data: '4242424242424242', containers: ['/qa/'] })));
  }
}

const list = ({ client }: Core, apiKey: string, query: string) =>
  client.call({ operation: 'listTokens', apiKey, params: {}, query: [...new URLSearchParams(query)] });

function pageOf({ bodyText = '' }: { readonly bodyText?: string | undefined }) {
  const { data, pagination } = JSON.parse(bodyText) as { data: { id: string }[]; pagination: object };
  return { ids: data.map(({ id }) => id), pagination };
}

const limits = (slices: readonly Slice[]) => slices.map(({ limit }) => limit);
const turnsOf = (slices: readonly Slice[]) => new Set(slices.map(({ turn }) => turn)).size;

describe('a page that the store does not find at once', () => {
  it('is found by a walk: 100 tokens in the first turn, 1,000 in each later one', async () => {
    const { core, slices } = await openLarge();
    await fill(core, 2_150);
    const { ids, pagination } = pageOf(await list(core, core.key, 'size=100&page=22'));
    expect(pagination).toEqual({ total_items: 2_150, page_number: 22, page_size: 100, total_pages: 22 });
    expect(ids).toHaveLength(50);
    expect([limits(slices), turnsOf(slices)]).toEqual([[100, 1_000, 1_000, 1_000], 4]);
  });

  it('equals the page of a small vault, wherever it begins', async () => {
    const [{ core: large }, small] = [await openLarge(), await openCore()];
    for (const core of [large, small]) await fill(core, 1_150);
    for (const query of [
      'size=100&page=11',
      'size=100&page=12',
      'size=7&page=15',
      'size=60&page=2',
      'size=100&page=13',
    ]) {
      for (const filter of ['', '&type=token']) {
        const [walked, found] = await Promise.all(
          [large, small].map(async (core) => pageOf(await list(core, core.key, query + filter))),
        );
        expect(walked).toEqual(found);
      }
    }
  });

  it('is found by scans of 200 tokens for a rule on a part of a segment', async () => {
    const { core, slices } = await openLarge();
    await fill(core, 450);
    const key = await partOfSegment(core);
    slices.length = 0;
    expect(pageOf(await list(core, key, 'size=100&page=5')).ids).toHaveLength(50);
    expect([limits(slices), turnsOf(slices)]).toEqual([[200, 200, 200], 3]);
    expect(slices.every(({ kind }) => kind === 'scan')).toBe(true);
  });
});

describe('a total', () => {
  const CAPPED = { total_items: MAX_TOTAL, total_items_capped: true, total_pages: 5_000 };

  it('of a walk ends at the cap', async () => {
    const { core, slices } = await openLarge({
      findTokens: async () => ({ records: [], total: undefined }),
      walkTokens: async (_, { limit }) => ({ found: limit, records: [], next: { created_at: NOW, id: 'x' } }),
    });
    const { pagination: shown } = pageOf(await list(core, core.key, 'type=token'));
    expect(shown).toEqual({ page_number: 1, page_size: 20, ...CAPPED });
    expect([slices.length, turnsOf(slices)]).toEqual([101, 101]);
  });

  it.each([
    ['all tokens of a caller without limits', '', {}, 250_000, { total_items: 250_000, total_pages: 12_500 }],
    ['a filter at the cap', 'type=token', {}, MAX_TOTAL, { total_items: MAX_TOTAL, total_pages: 5_000 }],
    ['a filter above it', 'type=token', {}, MAX_TOTAL + 1, CAPPED],
    ['a filter far above it', 'type=token', {}, 250_000, CAPPED],
    ['a caller with rules', '', { container: '/a/' }, 250_000, CAPPED],
  ])('of %s', async (_, query, over, total, pagination) => {
    const { core } = await openLarge({ findTokens: async () => ({ records: [], total }) });
    const key = await core.application({ name: 'x', type: 'private', rules: [rule(over)] });
    const { pagination: shown } = pageOf(await list(core, key, query));
    expect(shown).toEqual({ page_number: 1, page_size: 20, ...pagination });
  });
});

describe('a statement', () => {
  it('reads fewer tokens when each needs many tests', async () => {
    const store = await openStore(await temporaryVault());
    const { id } = await addTenant(store);
    for (let n = 0; n < 60; n++) await addToken(store, id, { created_at: NOW - n }, ['a']);
    const absent = (count: number): TokenCondition[] =>
      Array.from({ length: count }, (_, n) => ({ not: { index_in: [blind(`absent ${n}`)] } }));
    const looked = async (all: readonly TokenCondition[]) => {
      const walk = { after: undefined, limit: 40, skip: 0, take: 0 };
      return (await store.walkTokens({ tenant_id: id, all }, walk, NOW)).found;
    };
    expect(await looked([])).toBe(40);
    expect(await looked(absent(1))).toBe(40);
    expect(await looked(absent(10))).toBe(4);
    expect(await looked([{ some: [{ every: absent(15) }, { every: absent(5) }] }])).toBe(2);
  });

  it('reads at most one page before it leaves a list to a walk', async () => {
    const store = await openStore(await temporaryVault());
    const { id } = await addTenant(store);
    for (let n = 0; n < 150; n++) await addToken(store, id, { created_at: NOW - n }, ['a']);
    const all = Array.from({ length: 60 }, (_, n): TokenCondition => ({ not: { index_in: [blind(`absent ${n}`)] } }));
    const page = { offset: 0, limit: 20 };
    expect(await store.findTokens({ tenant_id: id, all }, page, NOW)).toEqual({ records: undefined, total: undefined });
    const few = { tenant_id: id, all: [...all.slice(0, 5)] };
    expect((await store.findTokens(few, page, NOW)).total).toBe(150);
  });
});
