import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PROBLEMS } from '../../src/contract/problems.ts';
import type { CallParts } from '../test-vault.ts';
import { type Core, openCore, PRIVATE, rule } from './core-fixture.ts';

const BODY = { type: 'token', data: 'one' } as const;
const permissions = ['token:create'];

let core: Core;
afterEach(() => void vi.restoreAllMocks());
beforeEach(async () => {
  core = await openCore();
});

const keyed = (parts: CallParts = { body: BODY }, idempotencyKey = 'key-1') => ({ ...parts, idempotencyKey });
const countTokens = async () => (await core.own('listTokens')).at('pagination.total_items');

describe('a call with an idempotency key', () => {
  it.each([
    ['another body', 'createToken', { body: { ...BODY, data: 'two' } }],
    ['the same body in other words', 'createToken', { bodyText: JSON.stringify(BODY, null, 1) }],
    ['another operation', 'updateToken', { id: 'other', body: { data: 'x' } }],
    ['a query', 'createToken', { body: BODY, query: 'a=1' }],
  ] as const)('is refused with %s', async (_what, operation, parts) => {
    await core.own('createToken', keyed());
    const answer = await core.own(operation, keyed(parts));
    expect(answer.at('type')).toBe('urn:token-vault:problem:idempotency_mismatch');
    expect(answer.status).toBe(409);
    expect(await countTokens()).toBe(1);
  });

  it('is refused with another id in the path', async () => {
    const [a, b] = [await core.token(BODY), await core.token(BODY)];
    await core.own('updateToken', keyed({ id: a, body: { data: 'x' } }));
    expect((await core.own('updateToken', keyed({ id: b, body: { data: 'x' } }))).status).toBe(409);
  });

  it('is stored by application: another application never gets the reply', async () => {
    const other = await core.application({ name: 'o', type: 'private', rules: [rule({ permissions: PRIVATE })] });
    const first = await core.own('createToken', keyed());
    const second = await core.call(other, 'createToken', keyed());
    expect(second).toMatchObject({ status: 201, replayed: undefined });
    expect(second.at('id')).not.toBe(first.at('id'));
    expect(await countTokens()).toBe(2);
  });

  it('returns the reply only to a caller that may still call the operation', async () => {
    const made = await core.manage('createApplication', { body: { name: 'o', type: 'private', permissions } });
    const [key, id] = [String(made.at('key')), String(made.at('id'))];
    expect((await core.call(key, 'createToken', keyed())).status).toBe(201);
    await core.manage('updateApplication', { id, body: { name: 'o', permissions: ['token:read'] } });
    expect((await core.call(key, 'createToken', keyed())).status).toBe(403);
  });

  it('is refused while the first call runs, with a Retry-After', async () => {
    // All three then start together: none waits for a turn while the first one ends.
    vi.spyOn(process, 'uptime').mockReturnValue(process.uptime());
    const calls = await Promise.all([1, 2, 3].map(() => core.own('createToken', keyed())));
    const [done, ...others] = calls;
    expect(done?.status).toBe(201);
    for (const other of others) {
      expect(other).toMatchObject({ status: 409, retryAfter: 1 });
      expect(other.at('detail')).toBe(PROBLEMS.idempotency_in_progress.detail);
    }
    expect(await core.own('createToken', keyed())).toMatchObject({ text: done?.text, replayed: true });
    expect(await countTokens()).toBe(1);
  });

  it('stores nothing when it fails or changes nothing', async () => {
    expect((await core.own('createToken', keyed({ body: { type: 'token' } }))).status).toBe(400);
    const id = await core.token({ ...BODY, id: 'mine' });
    expect((await core.own('createToken', keyed({ body: { ...BODY, id } }))).status).toBe(409);
    const duplicate = keyed({ body: { ...BODY, deduplicate_token: true } });
    for (const _try of [1, 2]) {
      expect(await core.own('createToken', duplicate)).toMatchObject({ status: 201, replayed: undefined });
    }
    expect((await core.own('createToken', keyed())).replayed).toBeUndefined();
  });

  it('stays taken when the token expires', async () => {
    const expires_at = new Date(core.clock.now() + 60_000).toISOString();
    const parts = keyed({ body: { ...BODY, expires_at } });
    await core.own('createToken', parts);
    core.clock.advance(59_999);
    expect((await core.own('createToken', parts)).replayed).toBe(true);
    core.clock.advance(1);
    expect((await core.own('createToken', parts)).status).toBe(409);
    await core.vault.sweep();
    expect((await core.own('createToken', parts)).status).toBe(409);
  });

  it('stays taken when one token of a batch expires', async () => {
    const expires_at = new Date(core.clock.now() + 60_000).toISOString();
    const parts = keyed({ body: [BODY, { ...BODY, expires_at }] });
    expect((await core.own('tokenize', parts)).status).toBe(201);
    expect((await core.own('tokenize', parts)).replayed).toBe(true);
    core.clock.advance(60_000);
    expect((await core.own('tokenize', parts)).status).toBe(409);
  });

  it('loses its reply with the key of an expiring application that ends with the key of its creator', async () => {
    const flag = { can_create_expiring_applications: true };
    const body = { name: 'b', type: 'private', permissions: ['token:read'], ...flag };
    const creator = await core.manage('createApplication', { body });
    const parts = keyed({ body: { name: 'c', type: 'expiring', permissions: ['token:read'] } });
    const minted = await core.call(String(creator.at('key')), 'createApplication', parts);
    expect(minted.status).toBe(201);
    const renewed = await core.manage('regenerateApplicationKey', { id: String(creator.at('id')) });
    const again = await core.call(String(renewed.at('key')), 'createApplication', parts);
    expect([again.status, again.at('key')]).toEqual([409, undefined]);
  });

  it('that is invalid is reported after 401 and 403', async () => {
    expect((await core.manage('createToken', keyed({ body: BODY }, ''))).status).toBe(403);
    expect((await core.call('nobody', 'createToken', keyed({ body: BODY }, ''))).status).toBe(401);
  });

  it('is ignored by DELETE and by operations that change nothing', async () => {
    const id = await core.token(BODY);
    for (const key of ['', 'key-1']) {
      expect((await core.own('getToken', keyed({ id }, key))).status).toBe(200);
      expect((await core.own('listTokens', keyed({}, key))).status).toBe(200);
    }
    expect((await core.own('deleteToken', keyed({ id }, 'key-1'))).status).toBe(204);
    expect((await core.own('deleteToken', keyed({ id }, 'key-1'))).status).toBe(404);
  });
});
