import { beforeEach, describe, expect, it } from 'vitest';
import { type Core, openCore, wrongPaths } from './core-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

const list = (query = '') => core.own('listTokens', { query });
const idsOf = (answer: { at(path: string): unknown }) => (answer.at('data') as { id: string }[]).map(({ id }) => id);

describe('pagination (§2.9, decisions §2)', () => {
  it('an empty list is page 1 of 0', async () => {
    const answer = await list();
    const pagination = { total_items: 0, page_number: 1, page_size: 20, total_pages: 0 };
    expect(JSON.parse(answer.text)).toEqual({ pagination, data: [] });
  });

  it('a page has 20 items by default and at most 100', async () => {
    for (let data = 0; data < 21; data++) await core.token({ type: 'token', data });
    expect(idsOf(await list())).toHaveLength(20);
    expect(idsOf(await list('size=100'))).toHaveLength(21);
  });

  it.each(['page=-1', 'page=1.5', 'page=', 'size=1e1', 'size= 1', 'page=99999999999999999999', 'size=5&size=5'])(
    '%s is refused, by both lists',
    async (query) => {
      const name = query.slice(0, 4);
      expect(wrongPaths(await list(query))).toEqual([name]);
      expect(wrongPaths(await core.manage('listApplications', { query }))).toEqual([name]);
    },
  );
});

describe('List Tokens (§4.1)', () => {
  it('the metadata key is everything after the first dot; a repeated key keeps its first value', async () => {
    const id = await core.token({ type: 'token', data: 1, metadata: { 'a.b': 'X', c: 'y' } });
    await core.token({ type: 'token', data: 2, metadata: { a: 'x', c: 'z' } });
    expect(idsOf(await list('metadata.a.b=x'))).toEqual([id]);
    expect(idsOf(await list('metadata.c=Y&metadata.c=z'))).toEqual([id]);
    expect(idsOf(await list('metadata.a.b=x&metadata.c=z'))).toEqual([]);
    expect(idsOf(await list('metadata.C=y'))).toEqual([]);
    expect(idsOf(await list('metadata.a.b='))).toEqual([]);
  });

  it('metadata matching ignores case in any alphabet and normalizes Unicode', async () => {
    const id = await core.token({ type: 'token', data: 1, metadata: { a: 'Straße', b: 'caf\u00e9', c: 'ΣΑΣ' } });
    for (const query of ['metadata.a=STRASSE', 'metadata.b=CAFE\u0301', 'metadata.c=σας', 'metadata.a=strasse']) {
      expect(idsOf(await list(query)), query).toEqual([id]);
    }
    expect(idsOf(await list('metadata.b=cafe'))).toEqual([]);
  });

  it('a token with other metadata is not shown when its blind index collides', async () => {
    // A blind index has 16 bytes, so two values may collide. Those of metadata always do in this vault.
    const one = new Uint8Array(16);
    const colliding = await openCore({
      keyringOf: (keyring) => ({
        ...keyring,
        openTenant(...words) {
          const keys = keyring.openTenant(...words);
          return {
            ...keys,
            blindIndex: (purpose, value) => (purpose === 'metadata' ? one : keys.blindIndex(purpose, value)),
          };
        },
      }),
    });
    const id = await colliding.token({ type: 'token', data: 1, metadata: { tag: 'a' } });
    await colliding.token({ type: 'token', data: 2, metadata: { tag: 'b' } });
    expect(idsOf(await colliding.own('listTokens', { query: 'metadata.tag=a' }))).toEqual([id]);
  });

  it('a filter with 101 ids is rejected', async () => {
    const query = Array.from({ length: 101 }, (_, index) => `id=id-${index}`).join('&');
    expect(wrongPaths(await list(query))).toEqual(['id']);
  });
});

describe('List Applications (§4.2)', () => {
  it('filters by ids and types, omits keys, and rejects other filters', async () => {
    const all = await core.manage('listApplications');
    const ids = idsOf(all);
    expect(idsOf(await core.manage('listApplications', { query: ids.map((id) => `id=${id}`).join('&') }))).toEqual(ids);
    expect(all.text).not.toContain('"key"');
    const made = { name: 'p', type: 'public', permissions: ['token:create'] };
    core.clock.advance(1);
    const id = (await core.manage('createApplication', { body: made })).at('id');
    const idsBy = async (query: string) => idsOf(await core.manage('listApplications', { query }));
    expect(await idsBy('type=public')).toEqual([id]);
    expect(await idsBy('type=public&type=management&type=private')).toEqual([id, ...ids]);
    expect(await idsBy(`type=public&${ids.map((each) => `id=${each}`).join('&')}`)).toEqual([]);
    expect((await core.manage('listApplications', { query: 'type=public' })).at('pagination.total_items')).toBe(1);
    expect(wrongPaths(await core.manage('listApplications', { query: 'type=card' }))).toEqual(['type.0']);
    expect(wrongPaths(await core.manage('listApplications', { query: 'types=public' }))).toEqual(['types']);
    expect(wrongPaths(await core.manage('getTenant', { query: 'page=1' }))).toEqual(['page']);
  });
});
