import { beforeAll, describe, expect, it } from 'vitest';
import type { AccessRule } from '../../src/contract/permissions.ts';
import { normalizeRules } from '../../src/core/access/check-application.ts';
import { createGrants, type Grants, governingTransform, transformOfEveryToken } from '../../src/core/access/grants.ts';
import { normalizeContainers } from '../../src/core/tokens/containers.ts';
import { atEndOfSuite } from '../temporary-folder.ts';
import { type ApplicationVector, GOVERNING, LISTED, LISTS, REPLIES } from '../vectors/access-rules.ts';
import { type AccessWorld, openAccessWorld, SIGHT_OF, sightOf, tokenBody } from './access-fixture.ts';

function grantsOf({ permissions = [], rules = [] }: ApplicationVector, within?: Grants): Grants {
  const described: AccessRule[] = rules.map((rule) => ({ description: '', ...rule }));
  return createGrants({ permissions, rules: normalizeRules(described) }, within);
}

describe('the governing transform of a read', () => {
  it.each(GOVERNING)('$name ($origin)', async ({ application, creator, token, transform }) => {
    const grants = grantsOf(application, creator && grantsOf(creator));
    const facts = { id: token.id, containers: normalizeContainers(token.containers) };
    expect(governingTransform(grants, 'token:read', facts) ?? null).toBe(transform);
    // Without an answer for every token, each token is asked for.
    expect([undefined, transform]).toContain(transformOfEveryToken(grants, 'token:read'));

    const world = await openAccessWorld();
    await world.token(token);
    const key = await world.apply(application, creator);
    const got = await world.call(key, 'getToken', { id: token.id });
    const listed = await world.call(key, 'listTokens');
    if (transform === null) {
      expect(got.status).toBe(403);
      // A caller that may read nothing gets 403 for the list; other callers get a list without this token.
      if (listed.status !== 403) expect(listed.at('pagination.total_items')).toBe(0);
      return;
    }
    expect([got.status, sightOf(got.at('data'))]).toEqual([200, SIGHT_OF[transform]]);
    expect(listed.at('pagination.total_items')).toBe(1);
    expect([listed.at('data.0.id'), sightOf(listed.at('data.0.data'))]).toEqual([token.id, SIGHT_OF[transform]]);
  });
});

describe('what a list shows', () => {
  it.each(LISTS)('$name ($origin)', async ({ application, creator, query = '', shows }) => {
    const world = await openAccessWorld();
    for (const token of LISTED) await world.token(token);
    const key = await world.apply(application, creator);
    const answer = await world.call(key, 'listTokens', { query: `size=100&${query}` });
    const items = answer.at('data') as { readonly id: string; readonly data?: unknown }[];
    expect(Object.fromEntries(items.map(({ id, data }) => [id, sightOf(data)]))).toEqual(shows);
    expect(answer.at('pagination.total_items')).toBe(Object.keys(shows).length);

    // Page one token at a time: the totals count readable tokens only, and no page is empty.
    const paged: unknown[] = [];
    for (let page = 1; page <= Object.keys(shows).length; page++) {
      const one = await world.call(key, 'listTokens', { query: `size=1&page=${page}&${query}` });
      paged.push(one.at('data.0.id'));
      expect(one.at('pagination.total_items')).toBe(Object.keys(shows).length);
    }
    expect(paged).toEqual(items.map(({ id }) => id));
  });
});

describe('what create and update return', () => {
  it.each(REPLIES)('$name ($origin)', async ({ application, operation, token, shows }) => {
    const world = await openAccessWorld();
    const key = await world.apply(application);
    const answer =
      operation === 'create'
        ? await world.call(key, 'createToken', { body: tokenBody(token) })
        : await world.call(key, 'updateToken', { id: await world.token(token), body: { metadata: { a: 'b' } } });
    expect([answer.status, sightOf(answer.at('data'))]).toEqual([operation === 'create' ? 201 : 200, shows]);
  });
});

describe('the vectors', () => {
  const atEnd = atEndOfSuite();
  let world: AccessWorld;
  beforeAll(async () => {
    world = await openAccessWorld(atEnd);
  });

  it('can tell mask, plaintext and neither apart', async () => {
    const id = await world.token({ containers: ['/a/'] });
    expect(sightOf((await world.call(world.everything, 'getToken', { id })).at('data'))).toBe('reveal');
    const masking = await world.apply({ type: 'private', permissions: ['token:read'] });
    expect(sightOf((await world.call(masking, 'getToken', { id })).at('data'))).toBe('mask');
    expect(() => sightOf('else')).toThrow('neither');
  });
});
