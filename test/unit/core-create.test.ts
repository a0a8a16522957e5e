import { beforeEach, describe, expect, it } from 'vitest';
import { TOKEN_TYPES, type TokenTypeRow } from '../../src/contract/token-types.ts';
import { readTable } from '../vectors/read-vectors.ts';
import { type Core, openCore, wrongPaths } from './core-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

const create = (body: object) => core.own('createToken', { body });

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
