import { beforeEach, describe, expect, it } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import type { Store } from '../../src/core/ports.ts';
import { createKeyring } from '../../src/keyring/create-keyring.ts';
import { composeVault } from '../../src/vault/vault.ts';
import { seededRandom, steppingClock } from '../fixed-world.ts';
import { openTestStore } from '../test-store.ts';
import { CARD, type Core, DAY, openCore, PRIVATE } from './core-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

const update = (body: object) => core.manage('updateTenant', { body });

describe('Get and Update Tenant (§4.3)', () => {
  it('replaces the name and updates modified_by and modified_at', async () => {
    core.clock.advance(1000);
    const answer = await update({ name: 'ä🃏' });
    const caller = (await core.manage('getApplicationByKey')).at('id');
    expect([answer.at('name'), answer.at('modified_by')]).toEqual(['ä🃏', caller]);
    expect(answer.at('modified_at')).toBe('2026-03-01T09:30:01.000+00:00');
    expect((await core.manage('getTenant')).text).toBe(answer.text);
  });

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

  it('equal content has one fingerprint per type, and unrelated ones across types and tenants', async () => {
    const fingerprint = async (type: string, key = core.key) => {
      const answer = await core.call(key, 'createToken', { body: { type, data: CARD.number } });
      return answer.at('fingerprint');
    };
    const { application } = await core.vault.createTenant('other');
    const other = { name: 'o', type: 'private', permissions: PRIVATE };
    const foreign = String((await core.call(application.key, 'createApplication', { body: other })).at('key'));
    const first = await fingerprint('token');
    expect(await fingerprint('token')).toBe(first);
    expect(new Set([first, await fingerprint('card_number'), await fingerprint('token', foreign)]).size).toBe(3);
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

  it('counts live tokens by type and reports when the last of each was created', async () => {
    const id = await core.token({ type: 'card', data: CARD });
    await core.token({ type: 'token', data: 1, expires_at: '2026-03-02' });
    core.clock.advance(1000);
    await core.token({ type: 'token', data: 2 });
    const last = { card: '2026-03-01T09:30:00.000+00:00', token: '2026-03-01T09:30:01.000+00:00' };
    const metrics = async () => (await report())['metrics_by_type'];
    expect(await metrics()).toEqual({
      card: { count: 1, last_created_at: last.card },
      token: { count: 2, last_created_at: last.token },
    });
    await core.own('deleteToken', { id });
    core.clock.advance(DAY);
    expect(await metrics()).toMatchObject({ card: { count: 0 }, token: { count: 1 } });
    await core.vault.sweep();
    expect(await metrics()).toMatchObject({ card: { count: 0 }, token: { count: 1 } });
  });

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

  it('deleting a token keeps its activity, even right after a read', async () => {
    const ids = [await core.token({ type: 'token', data: 1 }), await core.token({ type: 'token', data: 2 })];
    core.clock.set(Date.UTC(2026, 3, 1));
    await core.own('listTokens');
    for (const id of ids) await core.own('deleteToken', { id });
    expect(await active()).toBe(2);
  });

  it('the sweep keeps the activity of expired tokens', async () => {
    const id = await core.token({ type: 'token', data: 1, expires_at: '2026-04-02' });
    core.clock.set(Date.UTC(2026, 3, 1));
    await core.own('getToken', { id });
    core.clock.advance(DAY);
    expect(await core.vault.sweep()).toBe(1);
    expect(await active()).toBe(1);
  });

  /** Opens a vault with one token of last month, where writing activity waits for `gate`. */
  async function slowBookkeeping(gate: Promise<void>) {
    const clock = steppingClock();
    const random = seededRandom('waits');
    const { keyring, header } = await createKeyring({ kind: 'key_file', key: random.bytes(32) }, { now: clock.now() });
    const seen = { writes: 0 };
    const file = await openTestStore(header);
    const store: Store = {
      ...file,
      async markActive(...words) {
        seen.writes++;
        await gate;
        return file.markActive(...words);
      },
    };
    const vault = composeVault({ file: 'vault.db', store, keyring, clock, random });
    const management = (await vault.createTenant('t')).application.key;
    const call = async (operation: OperationId, apiKey: string | undefined, id?: string, body?: object) => {
      const parts = { params: id === undefined ? {} : { id }, query: [], bodyText: body && JSON.stringify(body) };
      const reply = await vault.dispatch({ operation, apiKey, mediaType: 'application/json', ...parts });
      return { status: reply.status, body: JSON.parse(reply.bodyText ?? '') };
    };
    const app = { name: 'a', type: 'private', permissions: PRIVATE };
    const { key } = (await call('createApplication', management, undefined, app)).body;
    const { id } = (await call('createToken', key, undefined, { type: 'token', data: 1 })).body;
    clock.set(Date.UTC(2026, 3, 1));
    return { call, seen, management, key, id };
  }

  it('no read waits for activity to be written', async () => {
    const { call, seen, key, id } = await slowBookkeeping(new Promise(() => {}));
    expect((await call('getToken', key, id)).status).toBe(200);
    await expect.poll(() => seen.writes, { timeout: 5_000 }).toBe(1);
    expect((await call('getToken', key, id)).status).toBe(200);
    expect((await call('listTokens', key)).status).toBe(200);
  });

  it('the report waits for activity that is being written', async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { call, seen, management, key, id } = await slowBookkeeping(gate);
    await call('getToken', key, id);
    await expect.poll(() => seen.writes, { timeout: 5_000 }).toBe(1);
    setTimeout(open, 50);
    const { body } = await call('getUsageReport', management);
    expect(body.token_report.monthly_active_tokens).toBe(1);
  });
});
