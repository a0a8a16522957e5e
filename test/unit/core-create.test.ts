import { beforeEach, describe, expect, it } from 'vitest';
import { TOKEN_TYPES, type TokenTypeRow } from '../../src/contract/token-types.ts';
import { readTable } from '../vectors/read-vectors.ts';
import { type Core, openCore, wrongPaths } from './core-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

const create = (body: object) => core.own('createToken', { body: { type: 'token', ...body } });

const masked = async (mask: unknown, data: unknown) => {
  const answer = await create({ data, mask });
  expect(answer.status, answer.text).toBe(201);
  return answer.at('data');
};

/** The first value of each type that the vectors accept. */
const GOOD: Readonly<Record<string, unknown>> = Object.fromEntries(
  readTable('validation')
    .filter(({ fields: [, outcome] }) => outcome === 'valid')
    .reverse()
    .map(({ part, fields: [data = ''] }) => [part, JSON.parse(data)]),
);

describe('a new token', () => {
  it('has a version 7 UUID when no id is given', async () => {
    const answer = await create({ type: 'token', data: 1 });
    expect(answer.at('id')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it.each(Object.entries<TokenTypeRow>(TOKEN_TYPES))('type %s: has the defaults of the table', async (type, row) => {
    const made = await create({ type, data: GOOD[type] });
    expect(made.status, made.text).toBe(201);
    expect(made.at('containers')).toEqual([row.container]);
    expect(made.at('mask')).toEqual(row.mask);
    expect(made.at('search_indexes')).toEqual(row.search_indexes);
    expect(made.at('fingerprint_expression')).toBe('{{ data | stringify }}');
  });
});

describe('ids, containers, metadata (decisions §5)', () => {
  it('the rules for ids apply to the value of an expression', async () => {
    expect(wrongPaths(await create({ type: 'token', data: 'a/b', id: '{{ data }}' }))).toEqual(['id']);
    expect(wrongPaths(await create({ type: 'token', data: 'x', id: '{{ data }}' }))).toEqual(['id']);
  });
});

describe('expiration (§2.6, decisions §8)', () => {
  it('an expired token is gone for update and delete, too', async () => {
    const id = await core.token({ type: 'token', data: 1, expires_at: '2026-03-02' });
    core.clock.advance(86_400_000);
    expect((await core.own('updateToken', { id, body: {} })).status).toBe(404);
    expect((await core.own('deleteToken', { id })).status).toBe(404);
    expect((await core.own('listTokens', { query: `id=${id}` })).at('data')).toEqual([]);
  });
});

describe('expressions (decisions §4)', () => {
  it('an id that renders to nothing is rejected instead of becoming null', async () => {
    const body = { id: '{{ data.name }}', type: 'token', data: { name: null } };
    expect(wrongPaths(await core.own('createToken', { body }))).toEqual(['id']);
    expect((await core.own('getToken', { id: 'null' })).status).toBe(404);
  });

  it('a mask may be any JSON: strings are evaluated at every depth, other values are constants', async () => {
    const mask = { a: [{ b: '{{ data.x | last4 }}' }, 1, true], fixed: 'text', gone: '{{ data.nope }}' };
    expect(await masked(mask, { x: '12345', y: 'secret' })).toEqual({ a: [{ b: '2345' }, 1, true], fixed: 'text' });
    expect(await masked(0, 'secret')).toBe(0);
    expect(await masked(false, 'secret')).toBe(false);
  });

  it.each([
    ['a tag', '{% if data %}x{% endif %}'],
    ['an unknown filter', '{{ data | nope }}'],
    ['a missing argument', '{{ data | reveal_last }}'],
    ['a wrong argument', "{{ data | reveal_last: 'x' }}"],
    ['a negative length', '{{ data | reveal_last: -1 }}'],
    ['a failed cast', '{{ data | to_number }}'],
    ['an open expression', '{{ data'],
    ['a random filter outside of id', '{{ data | alias_card }}'],
    ['metadata outside of fingerprint_expression', '{{ metadata.a }}'],
  ])('%s is a 400 that names the member and the position', async (_what, mask) => {
    const answer = await create({ data: 'secret', mask: { deep: [mask] }, metadata: { a: 'b' } });
    expect(wrongPaths(answer)).toEqual(['mask.deep.0']);
    expect(String(answer.at('errors[mask.deep.0]'))).toMatch(/at character \d+$/);
    expect(answer.text).not.toContain('secret');
  });

  it('a fingerprint expression can use data and metadata, the others only data', async () => {
    const printed = async (over: object) => (await create({ data: 'x', ...over })).at('fingerprint');
    const fingerprint_expression = '{{ metadata.a }}';
    const first = await printed({ fingerprint_expression, metadata: { a: '1' } });
    expect(await printed({ fingerprint_expression, metadata: { a: '1' }, data: 'y' })).toBe(first);
    expect(await printed({ fingerprint_expression, metadata: { a: '2' } })).not.toBe(first);
    for (const over of [{ search_indexes: [fingerprint_expression] }, { id: fingerprint_expression }]) {
      expect((await create({ data: 'x', metadata: { a: '1' }, ...over })).status).toBe(400);
    }
  });
});
