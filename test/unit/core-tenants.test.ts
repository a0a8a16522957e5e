import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Store, VaultHeader } from '../../src/core/ports.ts';
import { openTestStore } from '../test-store.ts';
import { CARD, type Core, DAY, openCore } from './core-fixture.ts';
import { callVault } from './vault-admin-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

const update = (body: object) => core.manage('updateTenant', { body });

describe('Get and Update Tenant (§4.3)', () => {
  it('replaces settings when they are given', async () => {
    await update({ name: 'a', settings: { deduplicate_tokens: 'true' } });
    expect((await update({ name: 'b' })).at('settings')).toEqual({ deduplicate_tokens: 'true' });
    expect((await update({ name: 'b', settings: null })).at('settings')).toEqual({ deduplicate_tokens: 'true' });
    expect((await update({ name: 'b', settings: {} })).at('settings')).toEqual({ deduplicate_tokens: 'false' });
  });
});

describe('deduplicate_tokens (§2.7, decisions §7)', () => {
  const body = { type: 'token', data: 'same' };

  it('is off by default; the request overrides the setting', async () => {
    const first = await core.token(body);
    expect(await core.token(body)).not.toBe(first);
    await update({ name: 't', settings: { deduplicate_tokens: 'true' } });
    expect(await core.token(body)).toBe(first);
    expect(await core.token({ ...body, deduplicate_token: false })).not.toBe(first);
    await update({ name: 't', settings: { deduplicate_tokens: 'false' } });
    expect(await core.token(body)).not.toBe(first);
    expect(await core.token({ ...body, deduplicate_token: true })).toBe(first);
  });

  it('matches by the value of the fingerprint expression, not by the whole data', async () => {
    const by = { fingerprint_expression: '{{ data.number }}', deduplicate_token: true };
    const first = await core.token({ type: 'card', data: CARD, ...by });
    expect(await core.token({ type: 'card', data: { ...CARD, cvc: '999' }, ...by })).toBe(first);
    expect(await core.token({ type: 'card', data: { ...CARD, cvc: '999' }, deduplicate_token: true })).not.toBe(first);
  });
});

describe('Delete Tenant (§3, decisions §8)', () => {
  it('makes all its keys 401 at once and leaves other tenants alone', async () => {
    const { application: other } = await core.vault.createTenant('other');
    await core.token({ type: 'token', data: 1 });
    expect((await core.manage('deleteTenant')).status).toBe(204);
    const answers = [await core.manage('getTenant'), await core.own('listTokens')];
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
    const bodies = answers.map(({ text }) => text.replace(/"instance":"[^"]*"/, ''));
    const unknown = await core.call('key_', 'getTenant');
    expect(new Set([...bodies, unknown.text.replace(/"instance":"[^"]*"/, '')]).size).toBe(1);
    expect((await core.call(other.key, 'getTenant')).status).toBe(200);
    expect((await core.vault.listTenants()).tenants.map(({ name }) => name)).toEqual(['other']);
  });
});

describe('the usage report (§2.8, decisions §8)', () => {
  const report = async () => (await core.manage('getUsageReport')).at('token_report') as Record<string, unknown>;
  const active = async () => (await report())['monthly_active_tokens'];

  it('counts a token once in each month in which it was created or returned by get or list', async () => {
    const [a] = [await core.token({ type: 'token', data: 1 }), await core.token({ type: 'token', data: 2 })];
    await core.own('getToken', { id: a });
    expect(await active()).toBe(2);
    core.clock.set(Date.UTC(2026, 3, 1) - 1);
    expect(await active()).toBe(2);
    core.clock.advance(1);
    expect(await active()).toBe(0);
    await core.own('getToken', { id: a });
    await core.own('getToken', { id: a });
    expect(await active()).toBe(1);
    await core.own('listTokens');
    expect(await active()).toBe(2);
  });

  it('counts only tokens on the returned page', async () => {
    for (const data of [1, 2, 3]) await core.token({ type: 'token', data });
    core.clock.set(Date.UTC(2026, 3, 1));
    await core.own('listTokens', { query: 'size=2&page=2' });
    expect(await active()).toBe(1);
  });

  it('a denied get, an update and a deletion do not count as activity', async () => {
    const id = await core.token({ type: 'token', data: 1, containers: ['/x/'] });
    const [other] = [await core.token({ type: 'token', data: 2 })];
    core.clock.set(Date.UTC(2026, 3, 1));
    const key = await core.application({
      ...{ name: 'r', type: 'private' },
      rules: [{ description: '', priority: 1, container: '/y/', transform: 'mask', permissions: ['token:read'] }],
    });
    expect((await core.call(key, 'getToken', { id })).status).toBe(403);
    expect((await core.call(key, 'listTokens')).at('data')).toEqual([]);
    await core.own('updateToken', { id, body: { metadata: { a: 'b' } } });
    await core.own('deleteToken', { id: other });
    expect(await active()).toBe(0);
  });

  it('the sweep keeps the activity of expired tokens', async () => {
    const id = await core.token({ type: 'token', data: 1, expires_at: '2026-04-02' });
    core.clock.set(Date.UTC(2026, 3, 1));
    await core.own('getToken', { id });
    core.clock.advance(DAY);
    expect(await core.vault.sweep()).toBe(1);
    expect(await active()).toBe(1);
  });

  /** Opens a vault with one token of last month. Writes of activity wait until `open` or the end of the test. */
  async function slowBookkeeping() {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const seen = { writes: 0 };
    const storeOf = async (header: VaultHeader): Promise<Store> => {
      const file = await openTestStore(header);
      return {
        ...file,
        async markActive(...words) {
          seen.writes++;
          await gate;
          return file.markActive(...words);
        },
      };
    };
    const slow = await openCore({ storeOf });
    onTestFinished(() => open());
    const id = await slow.token({ type: 'token', data: 1 });
    slow.clock.set(Date.UTC(2026, 3, 1));
    const read = async (operation: 'getToken' | 'listTokens' = 'getToken') =>
      (await callVault(slow.vault, slow.key, operation, operation === 'getToken' ? { id } : {})).status;
    return { slow, open, seen, read };
  }

  it('no read waits for activity to be written', async () => {
    const { seen, read } = await slowBookkeeping();
    expect(await read()).toBe(200);
    await expect.poll(() => seen.writes, { timeout: 5_000 }).toBe(1);
    expect([await read(), await read('listTokens')]).toEqual([200, 200]);
  });

  it('the report waits for activity that is being written', async () => {
    const { slow, open, seen, read } = await slowBookkeeping();
    await read();
    await expect.poll(() => seen.writes, { timeout: 5_000 }).toBe(1);
    setTimeout(open, 50);
    expect((await slow.manage('getUsageReport')).at('token_report.monthly_active_tokens')).toBe(1);
  });
});
