import { beforeEach, describe, expect, it } from 'vitest';
import { openTestVault, type TestVault } from '../test-vault.ts';
import { rule } from './core-fixture.ts';

let world: TestVault;
let writer: string;

beforeEach(async () => {
  world = await openTestVault();
  writer = await world.application({
    name: 'writer',
    type: 'private',
    permissions: ['token:create', 'token:read', 'token:delete'],
  });
});

async function create(body: object, key = writer): Promise<string> {
  const answer = await world.call(key, 'createToken', { body });
  expect(answer.status, answer.text).toBe(201);
  return String(answer.at('id'));
}

const reader = (over: object) => world.application({ name: 'reader', type: 'private', rules: [rule(over)] });

describe('values survive a round trip', () => {
  it.each([
    '9007199254740993',
    '1.10',
    '12345678901234567890',
    '-0',
    '1e2',
    '{"__proto__":{"a":1},"constructor":2}',
    '{"2":1,"1":2,"b":3,"a":4}',
    '"\\ud800"',
    '"\\u0000\\u001f"',
    '[null,true,false,[],{}]',
    '""',
    '0',
    'false',
  ])('%s', async (text) => {
    const made = await world.call(writer, 'createToken', { bodyText: `{"type":"token","data":${text}}` });
    expect(made.status, made.text).toBe(201);
    const answer = await world.call(await reader({}), 'getToken', { id: String(made.at('id')) });
    expect(answer.text).toContain(`"data":${text},"fingerprint"`);
  });
});

describe('ids', () => {
  it('a random alias that is always taken is replaced by a UUID', async () => {
    const taken = Array.from({ length: 10 }, (_, digit) => `id-${digit}`);
    for (const id of taken) await create({ type: 'token', data: 1, id });
    const id = await create({ type: 'token', data: '7', id: 'id-{{ data | alias_preserve_format }}' });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('the values of expressions', () => {
  it('an id may be a number', async () => {
    expect(await create({ type: 'token', data: 12345, id: '{{ data }}' })).toBe('12345');
  });

  it('an empty fingerprint is rejected', async () => {
    const body = { type: 'token', data: {}, fingerprint_expression: '{{ data.missing }}' };
    const answer = await world.call(writer, 'createToken', { body });
    expect([answer.status, answer.at('errors.fingerprint_expression')]).toEqual([
      400,
      ['must not have an empty result'],
    ]);
  });
});

describe('deduplication on create (decisions §7)', () => {
  const body = { type: 'token', data: { a: 1 }, metadata: { from: 'first' }, deduplicate_token: true };

  it('reveals only the identity of a token that the caller cannot read', async () => {
    await create(body);
    const blind = await world.application({ name: 'blind', type: 'public', permissions: ['token:create'] });
    const answer = await world.call(blind, 'createToken', { body });
    expect(Object.keys(JSON.parse(answer.text)).sort()).toEqual([
      'containers',
      'fingerprint',
      'id',
      'tenant_id',
      'type',
    ]);
  });

  it.each([
    ['redact', undefined],
    ['mask', 'XXXt'],
    ['reveal', 'XXXt'],
  ])('shows a caller with the rule %s the masked form at most', async (transform, data) => {
    await create({ ...body, data: 'text', mask: '{{ data | reveal_last: 1 }}' });
    const permissions = ['token:create', 'token:read'];
    const again = await world.application({
      name: 'again',
      type: 'private',
      rules: [rule({ transform, permissions })],
    });
    const answer = await world.call(again, 'createToken', { body: { ...body, data: 'text' } });
    expect([answer.status, answer.at('metadata.from'), answer.at('data')]).toEqual([201, 'first', data]);
  });
});

describe('expiry', () => {
  it('is swept by the file target at most once an hour', async () => {
    await create({ type: 'token', data: 1, expires_at: '2026-03-01T09:31:00Z' });
    await world.vault.sweepNowAndThen();
    world.clock.advance(60_000);
    await world.vault.sweepNowAndThen();
    expect(await world.vault.sweep()).toBe(1);
    await create({ type: 'token', data: 1, expires_at: '2026-03-01T10:00:00Z' });
    world.clock.advance(3_600_000);
    await world.vault.sweepNowAndThen();
    expect(await world.vault.sweep()).toBe(0);
  });
});
