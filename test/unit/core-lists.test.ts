import { beforeEach, describe, expect, it } from 'vitest';
import { type Core, idsOf, openCore, tenantsWith, wrongPaths } from './core-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

const list = (query = '') => core.own('listTokens', { query });

describe('pagination (§2.9, decisions §2)', () => {
  it('an empty list is page 1 of 0', async () => {
    const answer = await list();
    const pagination = { total_items: 0, page_number: 1, page_size: 20, total_pages: 0 };
    expect(JSON.parse(answer.text)).toEqual({ pagination, data: [] });
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

  it('a token with other metadata is not shown when its blind index collides', async () => {
    // A blind index has 16 bytes, so two values may collide. Those of metadata always do in this vault.
    const one = new Uint8Array(16);
    const keyringOf = tenantsWith(({ blindIndex }) => ({
      blindIndex: (purpose, value) => (purpose === 'metadata' ? one : blindIndex(purpose, value)),
    }));
    const colliding = await openCore({ keyringOf });
    const id = await colliding.token({ type: 'token', data: 1, metadata: { tag: 'a' } });
    await colliding.token({ type: 'token', data: 2, metadata: { tag: 'b' } });
    expect(idsOf(await colliding.own('listTokens', { query: 'metadata.tag=a' }))).toEqual([id]);
  });
});
