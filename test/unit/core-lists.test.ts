import { beforeEach, describe, expect, it } from 'vitest';
import { type Core, openCore, rule, wrongPaths } from './core-fixture.ts';

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

  it('pages contain every token once, newest first', async () => {
    const ids: string[] = [];
    for (let data = 0; data < 7; data++) {
      core.clock.advance(1);
      ids.unshift(await core.token({ type: 'token', data }));
    }
    const pages = await Promise.all([1, 2, 3].map((page) => list(`size=3&page=${page}`)));
    expect(pages.flatMap(idsOf)).toEqual(ids);
    expect(pages.map((page) => page.at('pagination.total_pages'))).toEqual([3, 3, 3]);
    expect(pages.map((page) => page.at('pagination.page_number'))).toEqual([1, 2, 3]);
  });

  it('tokens created at the same instant are ordered by id', async () => {
    for (const id of ['bbb', 'ccc', 'aaa', 'Ab1']) await core.token({ type: 'token', data: id, id });
    expect(idsOf(await list())).toEqual(['Ab1', 'aaa', 'bbb', 'ccc']);
  });

  it('a full last page has no successor, and a page beyond the end is empty', async () => {
    for (let data = 0; data < 4; data++) await core.token({ type: 'token', data });
    expect((await list('size=2')).at('pagination.total_pages')).toBe(2);
    const past = await list('size=2&page=3');
    expect([past.status, past.at('data'), past.at('pagination.total_items')]).toEqual([200, [], 4]);
    expect((await list('size=100&page=1000000000')).at('data')).toEqual([]);
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
  it('without filters contains every token that the caller may read, and none of another tenant', async () => {
    const { application } = await core.vault.createTenant('other');
    const body = { name: 'o', type: 'private', permissions: ['token:create', 'token:read'] };
    const foreign = String((await core.call(application.key, 'createApplication', { body })).at('key'));
    await core.token({ type: 'token', data: 1 }, foreign);
    const id = await core.token({ type: 'token', data: 1 });
    expect(idsOf(await list())).toEqual([id]);
  });

  it('shows the data of each token by the rule that governs it', async () => {
    await core.token({ type: 'token', id: 'revealed', data: 1, mask: 'm', containers: ['/a/'] });
    await core.token({ type: 'token', id: 'masked', data: 1, mask: 'm', containers: ['/b/'] });
    await core.token({ type: 'token', id: 'redacted', data: 1, mask: 'm', containers: ['/c/'] });
    await core.token({ type: 'token', id: 'unseen', data: 1, mask: 'm', containers: ['/d/'] });
    const rules = [
      rule({ container: '/a/', transform: 'reveal' }),
      rule({ container: '/b/', transform: 'mask', priority: 2 }),
      rule({ container: '/c/', transform: 'redact', priority: 3 }),
    ];
    const key = await core.application({ name: 'r', type: 'private', rules });
    const answer = await core.call(key, 'listTokens');
    const shown = (answer.at('data') as { id: string; data?: unknown }[]).map(({ id, data }) => [id, data]);
    expect(Object.fromEntries(shown)).toEqual({ revealed: 1, masked: 'm', redacted: undefined });
    expect(answer.at('pagination.total_items')).toBe(3);
  });

  it('omits and does not count ids that are unreadable or unknown', async () => {
    await core.token({ type: 'token', id: 'own', data: 1, containers: ['/a/'] });
    await core.token({ type: 'token', id: 'other', data: 1, containers: ['/b/'] });
    const key = await core.application({ name: 'r', type: 'private', rules: [rule({ container: '/a/' })] });
    const answer = await core.call(key, 'listTokens', { query: 'id=own&id=other&id=nothing&id=own' });
    expect(idsOf(answer)).toEqual(['own']);
    expect(answer.at('pagination.total_items')).toBe(1);
  });

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

  it.each(['prefix=x', 'containers=/a/', 'Type=card', 'metadata=x', 'ids=x'])(
    '%s: an unknown parameter',
    async (query) => {
      expect(wrongPaths(await list(query))).toHaveLength(1);
    },
  );

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
