import { beforeEach, describe, expect, it } from 'vitest';
import { fuzzUnread } from '../checks/unread-fuzz.ts';
import { CARD, type Core, members, openCore, PRIVATE, wrongPaths } from './core-fixture.ts';

let core: Core;
let form: string;

beforeEach(async () => {
  core = await openCore();
  form = await core.application({ name: 'form', type: 'public', permissions: ['token:create', 'token:update'] });
});

const update = (id: string, body: object) => core.call(form, 'updateToken', { id, body });

describe('an update by a caller that does not read the token (decisions §6)', () => {
  it('does not distinguish tokens with different data in 2,000 random patches', { timeout: 120_000 }, async () => {
    await fuzzUnread({ seed: 1, patches: 2_000 });
  });

  it('control: a caller that reads distinguishes them with the same random patches', async () => {
    const reading = [{ type: 'private', permissions: ['token:update', 'token:read'] }];
    await expect(fuzzUnread({ seed: 1, patches: 100, callers: reading })).rejects.toThrow('patch');
  });

  it('shows what the token is, and who changed it when', async () => {
    const id = await core.token({ type: 'card', data: CARD, metadata: { a: 'b' }, expires_at: '2026-03-02' });
    const shown = ['containers', 'created_at', 'created_by', 'expires_at', 'id', 'modified_at', 'modified_by'];
    const answer = await update(id, { mask: '{{ data }}' });
    expect(members(answer)).toEqual([...shown, 'tenant_id', 'type']);
    expect((await core.own('updateToken', { id, body: {} })).at('mask')).toBe('{{ data }}');
  });

  it('omits expressions that fail on the data', async () => {
    const id = await core.token({ type: 'token', data: { a: 'x' } });
    const body = {
      mask: { a: '{{ data.a | plus: 1 }}' },
      search_indexes: ['{{ data.b }}', '{{ data.a }}', '{{ data.a | plus: 1 }}'],
      fingerprint_expression: '{{ data.b }}',
    };
    expect((await update(id, body)).status).toBe(200);
    const left = await core.own('updateToken', { id, body: {} });
    expect([left.at('mask'), left.at('search_indexes'), left.at('fingerprint_expression')]).toEqual([
      undefined,
      ['{{ data.a }}'],
      '{{ data | stringify }}',
    ]);
    const masking = await core.application({ name: 'm', type: 'private', permissions: ['token:read'] });
    expect((await core.call(masking, 'getToken', { id })).at('data')).toBeUndefined();
  });

  it('omits expressions that take much work, since their time would reveal data', async () => {
    const id = await core.token({ type: 'token', data: 'x' });
    const mask = "{{ data | pad_left: 60000, 'a' | upcase | size }}";
    await update(id, { mask });
    expect((await core.own('updateToken', { id, body: {} })).at('mask')).toBeUndefined();
    expect((await core.own('updateToken', { id, body: { mask } })).at('mask')).toBe(mask);
  });

  it('validates data by the patch alone', async () => {
    const id = await core.token({ type: 'card', data: CARD });
    expect(wrongPaths(await update(id, { data: { cvc: '12' } }))).toEqual(['data.cvc']);
    expect(wrongPaths(await update(id, { data: { number: null } }))).toEqual(['data.number']);
    expect((await update(id, { data: { cvc: null } })).status).toBe(200);
    expect((await core.own('getToken', { id })).at('data')).toEqual({ ...CARD, cvc: undefined });
  });

  it('omits metadata that exceeds the limit together with existing members', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, '']));
    const id = await core.token({ type: 'token', data: 1, metadata });
    expect((await update(id, { metadata: { more: '' }, data: 2 })).status).toBe(200);
    const after = await core.own('getToken', { id });
    expect([after.at('metadata'), after.at('data')]).toEqual([metadata, 2]);
  });

  it('omits changes that would make the token too large', async () => {
    const small = await openCore(undefined, { response: 16 * 1024 });
    const unread = { name: 'u', type: 'private', permissions: ['token:update'] };
    const key = await small.application(unread);
    const data = { a: 'x'.repeat(15_000) };
    const id = await small.token({ type: 'token', data, mask: 'hidden' });
    const expires_at = '2035-01-01T00:00:00.000+00:00';
    const body = { data: { b: 'y'.repeat(2_000) }, containers: ['/moved/'], expires_at };
    expect((await small.call(key, 'updateToken', { id, body })).status).toBe(200);
    const after = await small.own('getToken', { id });
    expect([after.at('data'), after.at('containers'), after.at('expires_at')]).toEqual([data, ['/moved/'], expires_at]);
    expect((await small.own('updateToken', { id, body })).status).toBe(400);
  });

  it('may set expressions a hundred times a minute', async () => {
    const id = await core.token({ type: 'token', data: 1 });
    const statuses = async (body: object, times: number) => {
      const answers = [];
      for (let left = times; left > 0; left--) answers.push((await update(id, body)).status);
      return new Set(answers);
    };
    expect(await statuses({ mask: '{{ data }}' }, 100)).toEqual(new Set([200]));
    for (const body of [{ mask: '{{ data }}' }, { search_indexes: ['x'] }, { fingerprint_expression: 'x' }]) {
      expect(await statuses(body, 1)).toEqual(new Set([429]));
    }
    expect(await statuses({ data: 2, mask: null, metadata: { a: 'b' } }, 1)).toEqual(new Set([200]));
    const other = await core.application({ name: 'other', type: 'private', permissions: PRIVATE });
    expect((await core.call(other, 'updateToken', { id, body: { mask: 'x' } })).status).toBe(200);
    core.clock.advance(60_000);
    expect(await statuses({ mask: '{{ data }}' }, 1)).toEqual(new Set([200]));
  });
});
