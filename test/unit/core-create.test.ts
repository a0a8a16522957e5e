import { beforeEach, describe, expect, it } from 'vitest';
import { TOKEN_TYPES, type TokenTypeRow } from '../../src/contract/token-types.ts';
import { readTable } from '../vectors/read-vectors.ts';
import { type Core, members, openCore, rule, wrongPaths } from './core-fixture.ts';

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
    expect(wrongPaths(await create({ data: 'a/b', id: '{{ data }}' }))).toEqual(['id']);
    expect(wrongPaths(await create({ data: 'x', id: '{{ data }}' }))).toEqual(['id']);
    expect((await create({ data: 12345, id: '{{ data }}' })).at('id')).toBe('12345');
  });

  it('a random alias that is always taken is replaced by a UUID', async () => {
    for (let digit = 0; digit < 10; digit += 1) await create({ data: 1, id: `id-${digit}` });
    const { at } = await create({ data: '7', id: 'id-{{ data | alias_preserve_format }}' });
    expect(at('id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('expressions (decisions §4)', () => {
  it('an empty fingerprint is rejected', async () => {
    const answer = await create({ data: {}, fingerprint_expression: '{{ data.missing }}' });
    expect(wrongPaths(answer)).toEqual(['fingerprint_expression']);
    expect(answer.at('errors.fingerprint_expression')).toEqual(['must not have an empty result']);
  });

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
});

describe('deduplication (decisions §7)', () => {
  const body = { type: 'token', data: { a: 1 }, metadata: { from: 'first' }, deduplicate_token: true };

  it('is off by default; the request overrides the setting', async () => {
    const same = (over: object = {}) => core.token({ type: 'token', data: 'same', ...over });
    const first = await same();
    expect(await same()).not.toBe(first);
    expect(await same({ deduplicate_token: true })).toBe(first);
    await core.manage('updateTenant', { body: { name: 't', settings: { deduplicate_tokens: 'true' } } });
    expect(await same()).toBe(first);
    expect(await same({ deduplicate_token: false })).not.toBe(first);
  });

  it('reveals only the identity of a token that the caller cannot read', async () => {
    await core.token(body);
    const blind = await core.application({ name: 'blind', type: 'public', permissions: ['token:create'] });
    const answer = await core.call(blind, 'createToken', { body });
    expect(members(answer)).toEqual(['containers', 'fingerprint', 'id', 'tenant_id', 'type']);
  });

  it.each([
    ['redact', undefined],
    ['mask', 'XXXt'],
    ['reveal', 'XXXt'],
  ])('shows a caller with the rule %s the masked form at most', async (transform, data) => {
    const same = { ...body, data: 'text' };
    await core.token({ ...same, mask: '{{ data | reveal_last: 1 }}' });
    const rules = [rule({ transform, permissions: ['token:create', 'token:read'] })];
    const again = await core.application({ name: 'again', type: 'private', rules });
    const answer = await core.call(again, 'createToken', { body: same });
    expect([answer.status, answer.at('metadata.from'), answer.at('data')]).toEqual([201, 'first', data]);
  });
});

describe('expiry', () => {
  it('is swept by the file target at most once an hour', async () => {
    await create({ data: 1, expires_at: '2026-03-01T09:31:00Z' });
    await core.vault.sweepNowAndThen();
    core.clock.advance(60_000);
    await core.vault.sweepNowAndThen();
    expect(await core.vault.sweep()).toBe(1);
    await create({ data: 1, expires_at: '2026-03-01T10:00:00Z' });
    core.clock.advance(3_600_000);
    await core.vault.sweepNowAndThen();
    expect(await core.vault.sweep()).toBe(0);
  });
});
