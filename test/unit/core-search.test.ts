import { describe, expect, it } from 'vitest';
import { CARD, type Core, idsOf, openCore, rule } from './core-fixture.ts';

/**
 * Creates tokens in `/in/`, which limited callers reach, and in `/out/`, which they do not. `data:4242` matches all.
 */
async function withTokens(): Promise<Core> {
  const core = await openCore();
  for (const [id, container] of [
    ['in-1', '/in/'],
    ['out-1', '/out/'],
    ['in-2', '/in/deep/'],
    ['out-2', '/out/'],
  ] as const) {
    core.clock.advance(1);
    const metadata = { where: container };
    await core.token({ id, type: 'card', data: CARD, containers: [container], metadata, search_indexes: ['4242'] });
  }
  return core;
}

const search = (core: Core, key: string, query: string, more: object = {}) =>
  core.call(key, 'searchTokens', { body: { query, ...more } });

const limited = (core: Core, rules: readonly object[], permissions: readonly string[] = []) =>
  core.application({ name: 'limited', type: 'private', permissions, rules });

const READ_IN = rule({ container: '/in/', transform: 'mask' });

describe('a search', () => {
  it.each([
    ['data:4242', ['in-2', 'in-1']],
    ['NOT data:nothing', ['in-2', 'in-1']],
    ['NOT (NOT data:4242)', ['in-2', 'in-1']],
    ['id:out-1 OR id:in-1', ['in-1']],
    ['id:out-1', []],
    ['metadata.where:/out/', []],
    ['container:*', ['in-2', 'in-1']],
    ['container:/out/*', []],
    ['-container:/in/*', []],
    ['created_at:[* TO *]', ['in-2', 'in-1']],
    ['type:card OR -type:card', ['in-2', 'in-1']],
  ])('%s finds and counts only what a rule lets its caller read', async (query, ids) => {
    const core = await withTokens();
    const key = await limited(core, [READ_IN], ['token:search']);
    const found = await search(core, key, query);
    expect([idsOf(found), found.at('pagination.total_items')]).toEqual([ids, ids.length]);
    const page = await core.call(key, 'searchTokensByCursor', { body: { query, size: 1 } });
    expect([idsOf(page), page.at('pagination.next') !== undefined]).toEqual([ids.slice(0, 1), ids.length > 1]);
  });

  const SEARCH_IN = rule({ container: '/in/', permissions: ['token:search'] });
  const [READ_OUT, READ_BELOW] = [rule({ priority: 2, container: '/out/' }), rule({ priority: 3, container: '/in/' })];

  it.each([
    ['a rule for reading and searching', [{ ...SEARCH_IN, permissions: ['token:read', 'token:search'] }], []],
    ['a rule for searching, and plain reading', [SEARCH_IN], ['token:read']],
    ['rules that overlap', [SEARCH_IN, READ_OUT, READ_BELOW], []],
  ])('finds what both permissions reach, with %s', async (_, rules, permissions) => {
    const core = await withTokens();
    const found = await search(core, await limited(core, rules, permissions), 'data:4242');
    expect([idsOf(found), found.at('pagination.total_items')]).toEqual([['in-2', 'in-1'], 2]);
  });

  it.each([
    ['data:STRASSE', 'data:stra\u00dfe'],
    ['data:STRA\u1e9eE', 'metadata.u:stra\u00dfe', 'metadata.u:Strasse', 'metadata.u:STRA\u1e9eE'],
    ['metadata.k:"ÄÖ"', 'metadata.k:"a\u0308o\u0308"'],
    ['container:/A/*', 'container:/a/b/'],
  ])('folds case and Unicode forms: %s and %s', async (...queries) => {
    const core = await openCore();
    const search_indexes = ['Straße'];
    await core.token({
      type: 'token',
      data: 1,
      containers: ['/a/b/'],
      metadata: { k: 'äÖ', u: 'STRAẞE' },
      search_indexes,
    });
    for (const query of queries) expect((await search(core, core.key, query)).at('pagination.total_items')).toBe(1);
    const maker = String((await search(core, core.key, 'type:token')).at('data.0.created_by'));
    expect((await search(core, core.key, `created_by:${maker}`)).at('pagination.total_items')).toBe(1);
    const others = [
      `created_by:${maker.toUpperCase()}`,
      `modified_by:${maker}`,
      'metadata.K:"äö"',
      'data:stra',
      'id:A',
      'container:"/a/*/"',
      'type:card',
    ];
    for (const query of others) expect((await search(core, core.key, query)).at('pagination.total_items') ?? 0).toBe(0);
  });

  it('finds nothing when its two rules share no token', async () => {
    const core = await withTokens();
    const found = await search(core, await limited(core, [SEARCH_IN, READ_OUT]), 'NOT id:x');
    expect([idsOf(found), found.at('pagination.total_items')]).toEqual([[], 0]);
  });

  it.each([
    ['reveal', undefined, CARD.number],
    ['reveal', 'mask', 'XXXXXXXXXXXX4242'],
    ['reveal', 'redact', undefined],
    ['mask', undefined, 'XXXXXXXXXXXX4242'],
    ['mask', 'mask', 'XXXXXXXXXXXX4242'],
    ['mask', 'redact', undefined],
    ['redact', undefined, undefined],
    ['redact', 'mask', undefined],
  ])('under a rule with %s, asked for %s, shows no more than that', async (governing, transform, number) => {
    const core = await withTokens();
    const rules = [rule({ transform: governing, permissions: ['token:read', 'token:search'] })];
    const key = await limited(core, rules);
    const shown = await search(core, key, 'id:in-1', { transform });
    expect(shown.at('data.0.data.number')).toBe(number);
    const listed = await core.call(key, 'listTokens', {
      query: `id=in-1${transform ? `&transform=${transform}` : ''}`,
    });
    expect(listed.at('data.0.data.number')).toBe(number);
    const got = await core.call(key, 'getToken', { id: 'in-1', query: transform ? `transform=${transform}` : '' });
    expect(got.at('data.number')).toBe(number);
  });
});
