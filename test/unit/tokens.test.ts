import { beforeEach, describe, expect, it } from 'vitest';
import { openTestVault, type TestVault } from '../test-vault.ts';

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };

const rule = (over: object) => ({
  description: '',
  priority: 1,
  container: '/',
  transform: 'reveal',
  permissions: ['token:read'],
  ...over,
});

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

describe('create, get and list show data as the caller may see it', () => {
  it('a plain permission masks; a token without a mask is then redacted', async () => {
    const id = await create({ type: 'token', data: 'secret' });
    const answer = await world.call(writer, 'getToken', { id });
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain('"data"');
    expect(answer.text).not.toContain('secret');
  });

  it('a list contains and counts only the tokens that the caller may read, newest first', async () => {
    const ids: string[] = [];
    for (const container of ['/a/', '/b/', '/a/c/', '/ab/']) {
      world.clock.advance(1);
      ids.push(await create({ type: 'token', data: container, containers: [container] }));
    }
    const key = await reader({ container: '/a/' });
    const answer = await world.call(key, 'listTokens');
    expect(answer.at('pagination')).toEqual({ total_items: 2, page_number: 1, page_size: 20, total_pages: 1 });
    expect(answer.at('data.0.id')).toBe(ids[2]);
    expect(answer.at('data.1.id')).toBe(ids[0]);
    expect((await world.call(key, 'listTokens', { query: 'size=1&page=3' })).at('data')).toEqual([]);
  });

  it('a list filters by id, type and metadata; kinds are ANDed, members ORed', async () => {
    const a = await create({ type: 'token', data: 1, metadata: { Name: 'ÄPFEL', other: 'x' } });
    const b = await create({ type: 'card', data: CARD, metadata: { Name: 'äpfel' } });
    await create({ type: 'token', data: 2, metadata: { name: 'äpfel' } });
    const found = async (query: string) => {
      const answer = await world.call(writer, 'listTokens', { query });
      return (answer.at('data') as { id: string }[]).map(({ id }) => id).sort();
    };
    expect(await found(`metadata.Name=${encodeURIComponent('Äpfel')}`)).toEqual([a, b].sort());
    expect(await found(`metadata.Name=${encodeURIComponent('äPFEL')}&type=card`)).toEqual([b]);
    expect(await found(`id=${a}&id=${b}&id=missing`)).toEqual([a, b].sort());
    expect(await found('metadata.other=X&metadata.other=nope')).toEqual([a]);
    expect(await found('type=card&type=bank')).toEqual([b]);
    expect(await found('metadata.Name=pfel')).toEqual([]);
  });
});

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
  it('an id stays taken, even after its token is deleted', async () => {
    const body = { type: 'token', data: 1, id: 'my token@home' };
    expect(await create(body)).toBe('my token@home');
    expect((await world.call(writer, 'createToken', { body })).status).toBe(409);
    expect((await world.call(writer, 'deleteToken', { id: body.id })).status).toBe(204);
    expect((await world.call(writer, 'getToken', { id: body.id })).status).toBe(404);
    expect((await world.call(writer, 'createToken', { body })).status).toBe(409);
    expect((await world.call(writer, 'deleteToken', { id: body.id })).status).toBe(404);
  });

  it('an expression may form an id; without randomness, a taken one is 409', async () => {
    const body = { type: 'card_number', data: '4242424242424242', id: 'card-{{ data | last4 }}' };
    expect(await create(body)).toBe('card-4242');
    expect((await world.call(writer, 'createToken', { body })).status).toBe(409);
    const alias = await create({ type: 'card_number', data: '4242424242424242', id: '{{ data | alias_card }}' });
    expect(alias).toMatch(/^\d{16}$/);
    expect(alias).not.toBe('4242424242424242');
  });

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

  it('returns the oldest match and stores nothing', async () => {
    const first = await create(body);
    const again = await world.call(writer, 'createToken', { body: { ...body, metadata: { from: 'second' } } });
    expect([again.status, again.at('id'), again.at('metadata.from')]).toEqual([201, first, 'first']);
    expect((await world.call(writer, 'listTokens')).at('pagination.total_items')).toBe(1);
    expect(await create({ ...body, deduplicate_token: false })).not.toBe(first);
  });

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

  it('never matches another type, a deleted or an expired token', async () => {
    const first = await create({ ...body, expires_at: '2026-03-02' });
    world.clock.advance(2 * 86_400_000);
    const second = await create(body);
    expect(second).not.toBe(first);
    await world.call(writer, 'deleteToken', { id: second });
    expect(await create(body)).not.toBe(second);
  });
});

describe('expiry', () => {
  it('hides a token exactly at its time', async () => {
    const id = await create({ type: 'token', data: 1, expires_at: '3/2/2026 1:00:00 AM +01:00' });
    world.clock.set(Date.UTC(2026, 2, 2) - 1);
    const before = await world.call(writer, 'getToken', { id });
    expect([before.status, before.at('expires_at')]).toEqual([200, '2026-03-02T01:00:00.000+01:00']);
    world.clock.advance(1);
    expect((await world.call(writer, 'getToken', { id })).status).toBe(404);
    expect((await world.call(writer, 'listTokens')).at('pagination.total_items')).toBe(0);
    expect((await world.call(writer, 'createToken', { body: { type: 'token', data: 1, id } })).status).toBe(409);
    expect(await world.vault.sweep()).toBe(1);
    expect(await world.vault.sweep()).toBe(0);
  });

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

describe('what an update may set (decisions §6)', () => {
  const update = (key: string, id: string, body: object) => world.call(key, 'updateToken', { id, body });

  it('a caller that reads the token sees the new masked form', async () => {
    const key = await world.application({
      name: 'both',
      type: 'private',
      permissions: ['token:create', 'token:read', 'token:update'],
    });
    const id = await create({ type: 'card', data: CARD }, key);
    const answer = await update(key, id, { mask: '{{ data.number | last4 }}' });
    expect(answer.at('data')).toEqual('4242');
  });
});
