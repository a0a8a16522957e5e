import { beforeEach, describe, expect, it } from 'vitest';
import { CARD, type Core, members, openCore, PRIVATE, rule, wrongPaths } from './core-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

const patch = (id: string, body: object) => core.own('updateToken', { id, body });

describe('the media type of PATCH (§4.1)', () => {
  it.each([
    ['application/merge-patch+json', 200],
    ['application/merge-patch+json; charset=utf-8', 200],
    ['Application/Merge-Patch+JSON;charset="UTF-8"', 200],
    ['application/merge-patch+json; charset=utf8', 200],
    ['application/merge-patch+json; charset=US-ASCII', 200],
    ['application/merge-patch+json ; x=y', 200],
    ['application/merge-patch+json; charset=latin1', 415],
    ['application/merge-patch+json+x', 415],
    ['application/json', 415],
    ['application/json-patch+json', 415],
    ['text/plain', 415],
    ['', 415],
    [undefined, 415],
  ])('%s: %i', async (mediaType, status) => {
    const id = await core.token({ type: 'token', data: 1 });
    const answer = await core.own('updateToken', { id, bodyText: '{}', mediaType });
    expect(answer.status).toBe(status);
  });
});

describe('what PATCH merges and replaces (§4.1)', () => {
  it('allows at most 50 members of metadata after the merge', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, '']));
    const id = await core.token({ type: 'token', data: 1, metadata });
    expect(wrongPaths(await patch(id, { metadata: { one_more: '' } }))).toEqual(['metadata']);
    expect((await patch(id, { metadata: { k0: null, one_more: '' } })).status).toBe(200);
    expect(wrongPaths(await patch(id, { metadata: { k1: 1 } }))).toEqual(['metadata.k1']);
  });

  it.each([
    ['expires_at', { expires_at: '2/30/2027' }],
    ['expires_at', { expires_at: '2026-03-01' }],
    ['data', { data: null }],
    ['metadata', { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, 'v'])) }],
    ['mask.a', { mask: { a: '{{ data | alias_card }}' } }],
    ['mask', { mask: '{{ data | append: metadata.a }}' }],
    ['search_indexes.0', { search_indexes: ['{{ metadata.a }}'] }],
    ['fingerprint_expression', { fingerprint_expression: '{{ data | alias_preserve_length }}' }],
  ])('invalid %s is a 400, whether or not the token exists', async (path, body) => {
    expect(wrongPaths(await patch('no such token', body))).toEqual([path]);
    expect((await patch('no such token', { fingerprint_expression: '{{ metadata.a }}' })).status).toBe(404);
  });

  it('an error names both the type and null for a nullable member', async () => {
    const answer = await patch('any', { metadata: { a: 1 }, containers: '/a/' });
    expect(answer.at('errors')).toEqual({
      'metadata.a': ['must be a string or null'],
      containers: ['must be an array or null'],
    });
  });

  it('an empty patch changes only modified_by and modified_at', async () => {
    const id = await core.token({ type: 'card', data: CARD, metadata: { a: 'b' } });
    const before = JSON.parse((await core.own('getToken', { id })).text);
    core.clock.advance(1000);
    expect((await patch(id, {})).status).toBe(200);
    const modified = { modified_at: '2026-03-01T09:30:01.000+00:00', modified_by: before.created_by };
    expect(JSON.parse((await core.own('getToken', { id })).text)).toEqual({ ...before, ...modified });
  });

  it('a broken expression changes nothing', async () => {
    const id = await core.token({ type: 'token', data: { a: 1 } });
    expect(wrongPaths(await patch(id, { data: { a: 2 }, mask: '{{ data | nope }}' }))).toEqual(['mask']);
    expect(wrongPaths(await patch(id, { search_indexes: ['{{ data.b }}'] }))).toEqual(['search_indexes.0']);
    expect((await core.own('getToken', { id })).at('data')).toEqual({ a: 1 });
  });

  it.each([
    [{ mask: { a: '{{ data.a | plus: 1 }}' } }, 'mask.a', '{{ data.a | plus: 1 }}'],
    [{ mask: [{ 'b.c': '{{ data.a | plus: 1 }}' }] }, 'mask.0.b.c', '{{ data.a | plus: 1 }}'],
    [{ mask: { b: 'x', 'b.c': '{{ data.a | plus: 1 }}' } }, 'mask.b.c', '{{ data.a | plus: 1 }}'],
    [{ search_indexes: ['x', '{{ data.a | plus: 2 }}'] }, 'search_indexes.1', '{{ data.a | plus: 2 }}'],
    [{ fingerprint_expression: '{{ data.a | plus: 3 }}' }, 'fingerprint_expression', '{{ data.a | plus: 3 }}'],
  ])('names the stored expression of %j that fails on new data', async (definition, path, source) => {
    const id = await core.token({ type: 'token', data: { a: 1 }, ...definition });
    const messagesOf = async (body: object) => {
      const errors = (await patch(id, body)).at('errors') as Record<string, readonly string[]>;
      expect(Object.keys(errors)).toEqual([path]);
      return errors[path]?.[0] ?? '';
    };
    const stored = await messagesOf({ data: { a: 'x' } });
    expect(stored).toContain(`the stored expression ${source} fails after this patch: `);
    expect(
      `the stored expression ${source} fails after this patch: ${await messagesOf({ data: { a: 'x' }, ...definition })}`,
    ).toBe(stored);
  });
});

describe('PATCH into a duplicate (§4.1, decisions §7)', () => {
  const REDACTED = ['containers', 'created_at', 'created_by', 'fingerprint', 'id', 'modified_at', 'modified_by'];
  const original = { type: 'token', data: 'same', containers: ['/secret/'] };

  async function scene() {
    await core.token(original);
    const own = { type: 'token', data: 'other', containers: ['/own/'], metadata: { a: 'b' }, mask: 'hidden' };
    const id = await core.token({ ...own, search_indexes: ['{{ data }}'] });
    const rules = [rule({ container: '/own/', permissions: PRIVATE })];
    const key = await core.application({ name: 'blind', type: 'private', rules });
    return { id, key };
  }

  it('redacts data, metadata, expressions and mask for a caller that cannot read the original', async () => {
    const { id, key } = await scene();
    const body = { data: 'same', deduplicate_token: true };
    const answer = await core.call(key, 'updateToken', { id, body });
    expect(answer.status).toBe(200);
    expect(members(answer)).toEqual([...REDACTED, 'tenant_id', 'type']);
  });

  it('shows everything to a caller that reads the original', async () => {
    const { id } = await scene();
    const answer = await patch(id, { data: 'same', deduplicate_token: true });
    expect([answer.at('data'), answer.at('mask'), answer.at('metadata.a')]).toEqual(['same', 'hidden', 'b']);
  });

  it('a later patch that leaves the fingerprint as it was makes no duplicate: its reply has every member', async () => {
    const { id, key } = await scene();
    await core.call(key, 'updateToken', { id, body: { data: 'same', deduplicate_token: true } });
    for (const body of [{}, { data: 'same' }, { metadata: { a: 'c' } }, { mask: 'other' }]) {
      const answer = await core.call(key, 'updateToken', { id, body: { ...body, deduplicate_token: true } });
      expect([answer.at('data'), answer.at('search_indexes')]).toEqual(['same', ['{{ data }}']]);
    }
    // Only one of the expressions changes the fingerprint, and makes it that of another token again.
    const own = { data: 'x', fingerprint_expression: '{{ data | append: "y" }}' };
    await core.call(key, 'updateToken', { id, body: own });
    const back = { data: 'same', fingerprint_expression: null, deduplicate_token: true };
    expect((await core.call(key, 'updateToken', { id, body: back })).at('data')).toBeUndefined();
  });
});
