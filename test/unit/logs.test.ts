import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { START } from '../../src/core/audit/audit-link.ts';
import { indexLog } from '../../src/core/audit/log-index.ts';
import { createLogWatch } from '../../src/core/audit/log-watch.ts';
import { searchLog } from '../../src/core/audit/search-log.ts';
import type { Keyring } from '../../src/core/ports.ts';
import { turnsDuring } from '../turns-during.ts';
import { openTestAudit } from './audit-fixture.ts';
import { type Core, openCore, wrongPaths } from './core-fixture.ts';

interface Entry {
  readonly id: string;
  readonly operation: string;
  readonly message: string;
  readonly entity_id?: string;
  readonly [member: string]: unknown;
}

let core: Core;
let foreign: { readonly management: string; readonly tenantId: string };

beforeEach(async () => {
  core = await openCore();
  const { tenant, application } = await core.vault.createTenant('other');
  foreign = { management: application.key ?? '', tenantId: tenant.id };
});

async function logs(query = '', key = core.management) {
  const answer = await core.call(key, 'listLogs', { query });
  expect(answer.status, answer.text).toBe(200);
  return { data: answer.at('data') as readonly Entry[], next: answer.at('pagination.next') as string | undefined };
}

/** Reads without the fixture, which would repeat the read to compare and so leave a second entry. */
const readOnce = (operation: 'getToken' | 'listTokens', id?: string) =>
  core.client.call({ operation, apiKey: core.key, params: id === undefined ? {} : { id }, query: [] });

const briefly = ({ data }: { readonly data: readonly Entry[] }) =>
  data.map(({ operation, entity_id }) => [operation, entity_id].join(' '));

/** Returns a waiting caller; by default, each number has an account and a tenant of its own. */
const watching = (n: number, over: { readonly account?: string; readonly tenant_id?: string }) => ({
  ...{ account: `a${n}`, tenant_id: `t${n}`, isAbandoned: () => false },
  ...over,
});

describe('the log', () => {
  it('has an entry for each entity of an event, and marks changes that showed plaintext', async () => {
    for (const id of ['one', 'two']) await core.token({ id, type: 'token', data: 1 });
    await readOnce('listTokens');
    await core.own('updateToken', { id: 'one', body: { data: 2 } });
    const { data } = await logs('size=3');
    const shown = data.map(({ id, entity_id, operation, revealed }) => [
      id.replace(/^\d+/, ''),
      operation,
      entity_id,
      revealed,
    ]);
    // The list is written with later reads, so before or after the change.
    expect(shown.toSorted()).toEqual([
      ['.1', 'updateToken', 'one', true],
      ['.1.1', 'listTokens', 'one', true],
      ['.1.2', 'listTokens', 'two', true],
    ]);
    expect(shown.filter(([id]) => id !== '.1')).toEqual([
      ['.1.2', 'listTokens', 'two', true],
      ['.1.1', 'listTokens', 'one', true],
    ]);
    expect(briefly(await logs('entity_id=one&size=2')).toSorted()).toEqual(['listTokens one', 'updateToken one']);
  });

  it('has one entry for counted denials', async () => {
    const { store, keyring, write } = await openLog();
    const counted = { count: 1_234, first_at: 0, last_at: 1 };
    const denied = { action: 'getToken', status: 403, application_id: OTHER, tenant_id: TENANT, entities: [] } as const;
    await write({ ...denied, counted });
    const { entries } = await searchLog({ store, keyring }, { tenant_id: TENANT, size: 20 });
    expect(entries).toEqual([expect.objectContaining({ id: '1.1', message: 'Denied 1234 times: get a token.' })]);
    expect(entries[0]).not.toHaveProperty('entity_id');
  });

  it.each([
    ['entity_type=application', ['createApplication']],
    ['entity_id=two', ['deleteToken', 'getToken', 'createToken']],
    ['operation=createToken', ['createToken', 'createToken']],
    ['denied=true', ['getTenant']],
    ['denied=true&entity_id=two', []],
    ['entity_type=token&denied=false', ['deleteToken', 'getToken', 'createToken', 'createToken']],
    ['start_date=2000-01-01&end_date=2000-01-02', []],
    ['end_date=2999-01-01T00:00&operation=getToken', ['getToken']],
    ['start_date=2999-01-01T00:00:00Z', []],
  ])('filters: %s', async (query, operations) => {
    for (const id of ['one', 'two']) await core.token({ id, type: 'token', data: 1 });
    await readOnce('getToken', 'two');
    await logs();
    await core.own('getTenant');
    await logs();
    await core.own('deleteToken', { id: 'two' });
    // The fixture created the first application.
    const found = (await logs(query)).data.map(({ operation }) => operation);
    expect(found.filter((operation) => operation !== 'createTenant')).toEqual(operations);
    // The same query by the index.
    await core.vault.sweep();
    expect((await logs(query)).data.map(({ operation }) => operation)).toEqual(found);
  });

  it('filters by actor and ignores the case of its id', async () => {
    const actor = String((await core.manage('getApplicationByKey')).at('id'));
    await core.token({ id: 'one', type: 'token', data: 1 });
    for (const id of [actor, actor.toUpperCase()]) {
      expect(briefly(await logs(`actor_id=${id}`))).toEqual([expect.stringMatching(/^createApplication /)]);
    }
  });

  it.each([
    ['size=101', 'size'],
    ['start=bm9uZQ', 'start'],
    ['start=!', 'start'],
    ['after=seven', 'after'],
    ['wait=1', 'wait'],
    ['after=1.1&wait=26', 'wait'],
    ['denied=yes', 'denied'],
    ['operation=getTokens', 'operation'],
    ['entity_type=key', 'entity_type'],
    ['actor_id=me', 'actor_id'],
    ['start_date=2026-02-30', 'start_date'],
    ['start_date=2026-01-02&end_date=2026-01-01', 'end_date'],
    ['end_date=yesterday', 'end_date'],
    ['page=0', 'page'],
    ['page=x', 'page'],
    ['page=1&start=MS4xLjA', 'page'],
    ['page=2&after=1.1', 'page'],
    ['page=1&after=1.1&wait=1', 'page'],
    ['page=1&wait=1', 'wait'],
    ['page=501', 'page'],
    ['page=10001&size=1', 'page'],
    ['page=999999999999999&size=100', 'page'],
  ])('refuses %s', async (query, path) => {
    expect(wrongPaths(await core.manage('listLogs', { query }))).toEqual([path]);
  });

  it('is read by cursor, each entry once, while entries are added', async () => {
    for (let id = 0; id < 7; id++) await core.token({ id: `t-${id}`, type: 'token', data: 1 });
    const ids = (await logs('size=100')).data.map(({ id }) => id);
    for (const size of [1, 2, 3]) {
      const walked: string[] = [];
      for (let query = `size=${size}`; ; ) {
        const { data, next } = await logs(query);
        walked.push(...data.map(({ id }) => id));
        await core.token({ type: 'token', data: 1 });
        if (next === undefined) break;
        query = `size=${size}&start=${next}`;
      }
      expect(walked.slice(-ids.length)).toEqual(ids);
      expect(new Set(walked).size).toBe(walked.length);
      ids.unshift(...(await logs('size=100')).data.map(({ id }) => id).filter((id) => !ids.includes(id)));
    }
  });
});

describe('a tenant', () => {
  it('sees nothing of another tenant by any filter, before and after the index is built', async () => {
    await core.token({ id: 'mine', type: 'token', data: 1 });
    const me = String((await core.manage('getApplicationByKey')).at('id'));
    for (let turn = 0; turn < 2; turn++) {
      const { data } = await logs('size=100', foreign.management);
      expect(data.map(({ operation }) => operation)).toEqual(['createTenant']);
      for (const query of ['entity_id=mine', `actor_id=${me}`, 'operation=createToken', `entity_id=${core.tenantId}`]) {
        expect((await logs(query, foreign.management)).data, query).toEqual([]);
      }
      const mine = (await logs('size=100')).data;
      expect(mine.every(({ tenant_id }) => tenant_id === core.tenantId)).toBe(true);
      expect(JSON.stringify(mine)).not.toContain(foreign.tenantId);
      await core.vault.sweep();
    }
  });

  it('does not see entries about the whole vault', async () => {
    const { store, keyring, write } = await openLog();
    await write({ action: 'addSlot', status: 200, entities: ['a', 'b'] });
    await write({ action: 'resetTokens', status: 200, tenant_id: OTHER, entities: [] });
    await write({ action: 'resetTokens', status: 200, tenant_id: TENANT, entities: [] });
    const { entries } = await searchLog({ store, keyring }, { tenant_id: TENANT, size: 100 });
    expect(entries).toEqual([expect.objectContaining({ operation: 'resetTokens', entity_id: TENANT })]);
    expect(JSON.stringify(entries)).not.toContain(OTHER);
  });
});

describe('log:read', () => {
  it('is required, and only a denial leaves an entry', async () => {
    const before = (await logs('size=100')).data.length;
    expect((await core.own('listLogs')).status).toBe(403);
    const { data } = await logs('size=100');
    expect(data.length).toBe(before + 1);
    expect(data[0]).toMatchObject({ operation: 'listLogs', status: 403, entity_type: 'tenant' });
    expect((await logs('size=100')).data).toEqual(data);
  });
});

const [TENANT, OTHER] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

/** Opens a log to write entries into, and counts the entries that are opened. */
async function openLog() {
  const opened = { count: 0 };
  const keyringOf = (inner: Keyring): Keyring => ({
    ...inner,
    openAuditEvent(...row) {
      opened.count += 1;
      return inner.openAuditEvent(...row);
    },
  });
  const { keyring, store, audit } = await openTestAudit({ keyringOf });
  const write = (...events: readonly AuditEvent[]) => store.appendAudit(events.map((event) => audit.draft(event)));
  const read = (id: string, tenant_id = TENANT): AuditEvent => ({
    action: 'getToken',
    status: 200,
    application_id: OTHER,
    tenant_id,
    entities: [id],
  });
  return { store, keyring, opened, write, read };
}

describe('a search', () => {
  it('by an entity opens only the entries of that entity and a short tail', async () => {
    const { store, keyring, opened, write, read } = await openLog();
    await write(read('rare'), ...Array(3_000).fill(read('often')), read('rare'));
    await indexLog({ store, keyring }, undefined, undefined, () => true);
    expect(await store.logIndexEnd()).toBe(0);
    await indexLog({ store, keyring });
    await write(...Array(50).fill(read('often')), read('rare'));
    opened.count = 0;
    const { entries, next } = await searchLog({ store, keyring }, { tenant_id: TENANT, entity_id: 'rare', size: 20 });
    expect(entries.map(({ entity_id }) => entity_id)).toEqual(['rare', 'rare', 'rare']);
    expect(next).toBeUndefined();
    expect(opened.count).toBe(53);
    // The same id in another tenant is another entity.
    opened.count = 0;
    const other = await searchLog({ store, keyring }, { tenant_id: OTHER, entity_id: 'rare', size: 20 });
    expect([other.entries, opened.count]).toEqual([[], 51]);
  });

  it('covers entries that are not indexed yet', async () => {
    const { store, keyring, write, read } = await openLog();
    await write(read('rare'), ...Array(12_000).fill(read('often')), read('rare'));
    const ask = () => searchLog({ store, keyring }, { tenant_id: TENANT, entity_id: 'rare', size: 20 });
    const first = await ask();
    expect(first.entries.map(({ id }) => id)).toEqual(['12002.1']);
    expect(first.next).toBeDefined();
    expect(first.searched_to).toBe(1_700_000_000_000);
    await ask();
    await ask();
    expect((await ask()).entries.map(({ id }) => id)).toEqual(['12002.1', '1.1']);
    expect((await ask()).next).toBeUndefined();
  });

  it('without an entity opens at most 5,000 entries, and the next page continues there', async () => {
    const { store, keyring, opened, write, read } = await openLog();
    await write(read('rare'), ...Array(6_000).fill(read('often')));
    const question = { tenant_id: TENANT, operation: 'createToken', size: 20 };
    const { entries, next, searched_to } = await searchLog({ store, keyring }, question);
    expect([entries, searched_to]).toEqual([[], 1_700_000_000_000]);
    expect(opened.count).toBeLessThanOrEqual(5_000);
    const rest = await searchLog({ store, keyring }, { ...question, operation: 'getToken', before: next, size: 2_500 });
    expect(rest.entries.at(-1)?.entity_id).toBe('rare');
    expect(opened.count).toBe(6_001);
  });

  it('lets other calls run, even if each event names a thousand entities', async () => {
    const { store, keyring, write, read } = await openLog();
    const entities = Array.from({ length: 1_000 }, (_, n) => `token-${n}`);
    await write(...Array(200).fill({ ...read('batch'), entities }));
    const question = { tenant_id: TENANT, entity_type: 'application', size: 20 };
    const { turns, needed } = await turnsDuring(() => searchLog({ store, keyring }, question));
    expect(turns).toBeGreaterThan(needed);
  });

  it('fails on a row that does not open', async () => {
    const { store, keyring, write, read } = await openLog();
    await write(read('one'));
    const broken = { ...keyring, openAuditEvent: () => keyring.openAuditEvent(0, new Uint8Array(80)) };
    const asked = searchLog({ store, keyring: broken }, { tenant_id: TENANT, size: 20 });
    await expect(asked).rejects.toMatchObject({ code: 'integrity_failure' });
  });
});

describe('a waiting call', () => {
  const newest = async () => (await logs()).data[0]?.id ?? '';

  it('returns as soon as a matching entry is written', async () => {
    const waiting = logs(`after=${await newest()}&wait=25&entity_id=two`);
    await core.token({ id: 'one', type: 'token', data: 1 });
    await sleep(250);
    await core.token({ id: 'two', type: 'token', data: 1 });
    expect(briefly(await waiting)).toEqual(['createToken two']);
  });

  it('returns an empty page after its time, or when the vault stops', async () => {
    const began = performance.now();
    expect((await logs(`after=${await newest()}&wait=1`)).data).toEqual([]);
    expect(performance.now() - began).toBeGreaterThan(950);
    const waiting = logs(`after=${await newest()}&wait=25`);
    await sleep(50);
    core.vault.endWaits();
    expect((await waiting).data).toEqual([]);
  });

  it('ends with the key: 401 after a regeneration', async () => {
    const body = { name: 'watch', type: 'management', permissions: ['log:read'] };
    const made = await core.manage('createApplication', { body });
    const waiting = core.call(String(made.at('key')), 'listLogs', { query: `after=${await newest()}&wait=25` });
    await sleep(50);
    await core.manage('regenerateApplicationKey', { id: String(made.at('id')) });
    expect((await waiting).status).toBe(401);
  });

  it.each([
    ['8 others of its account', 8, { account: 'a', tenant_id: 't' }, { account: 'b', tenant_id: 't' }],
    ['32 others of its tenant', 32, { tenant_id: 't' }, { tenant_id: 'u' }],
    ['64 others', 64, {}, undefined],
  ])('is rejected when %s wait', async (_what, most, same, other) => {
    const watch = createLogWatch({ auditHead: async () => ({ ...START, at: 0 }) });
    const waits = Array.from({ length: most }, (_, n) => watch.changed(0, 100, watching(n, same)));
    await expect(watch.changed(0, 1, watching(most, same))).rejects.toMatchObject({ code: 'too_many_requests' });
    if (other !== undefined) expect(await watch.changed(0, 1, watching(most, other))).toBe(false);
    expect(new Set(await Promise.all(waits))).toEqual(new Set([false]));
    expect(await watch.changed(0, 1, watching(0, same))).toBe(false);
  });

  it('ends soon after its client has left', async () => {
    const watch = createLogWatch({ auditHead: async () => ({ ...START, at: 0 }) });
    const began = performance.now();
    await watch.changed(0, 60_000, { ...watching(0, {}), isAbandoned: () => true });
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it('ends when all waits end, and later calls do not wait', async () => {
    const watch = createLogWatch({ auditHead: async () => ({ ...START, at: 0 }) });
    const waits = Array.from({ length: 3 }, () => watch.changed(0, 60_000, watching(0, {})));
    watch.end();
    expect(await Promise.all([...waits, watch.changed(0, 60_000, watching(0, {}))])).toEqual([true, true, true, true]);
  });
});
