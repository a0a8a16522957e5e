import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import type { Call, Reply } from '../../src/contract/call.ts';
import type { Store } from '../../src/core/ports.ts';
import { type Core, openCore, partOfSegment, rule } from './core-fixture.ts';

afterEach(() => vi.restoreAllMocks());

const MIB = 1024 * 1024;

const CREATING = {
  can_create_expiring_applications: true,
  permissions: ['token:read'],
  type: 'private',
  name: 'parent',
};

/** Calls as a daemon does, and resolves to the reply, whose client has not read it. */
async function take({ vault }: Core, call: Omit<Call, 'query'>): Promise<Reply> {
  await vault.ready();
  return new Promise((resolve) => {
    vault.take({ query: [], ...call }, resolve);
  });
}

const ask = (core: Core, apiKey: string, id: string) => take(core, { operation: 'getToken', apiKey, params: { id } });

it('unread replies of one account stay below 32 MiB, and others get theirs', async () => {
  const core = await openCore({ limits: { body: 4 * MIB } });
  const id = await core.token({ type: 'token', data: 'x'.repeat(3 * MIB) });
  const other = await core.application({ name: 'other', type: 'private', rules: [rule({})] });
  const unread: Reply[] = [];
  for (let n = 0; n < 8; n += 1) unread.push(await ask(core, core.key, id));
  expect(unread.map(({ status }) => status)).toEqual(Array(8).fill(200));
  const next = ask(core, core.key, id);
  const first = await Promise.race([next, ask(core, other, id)]);
  expect(first.status).toBe(200);
  first.sent?.();
  unread[0]?.sent?.();
  expect((await next).status).toBe(200);
});

it('a batch is prepared while an earlier one of its account is written', async () => {
  let begun = 0;
  const { promise: written, resolve: write } = Promise.withResolvers<void>();
  const core = await openCore({
    storeOf: (file) => ({
      ...file,
      async insertTokens(...batch) {
        begun += 1;
        if (begun === 2) write();
        await written;
        return file.insertTokens(...batch);
      },
    }),
  });
  const tokenize = () => core.own('tokenize', { body: [{ type: 'token', data: 1 }] });
  const replies = await Promise.all([tokenize(), tokenize()]);
  expect(replies.map(({ status }) => status)).toEqual([201, 201]);
});

it('expiring applications of one creator share its account', async () => {
  const core = await openCore();
  const parent = await core.application({ ...CREATING });
  const accounts = new Set<string>();
  const children = await Promise.all(
    [1, 2].map(async () => {
      const body = { name: 'child', type: 'expiring', permissions: ['token:read'] };
      return String((await core.call(parent, 'createApplication', { body })).at('key'));
    }),
  );
  for (const apiKey of [parent, ...children]) {
    const onCaller = (_id: string, account: string) => void accounts.add(account);
    await core.client.call({ operation: 'listTokens', apiKey, params: {}, query: [], onCaller });
  }
  expect(accounts.size).toBe(1);
});

it('a list that takes too long is refused by number, and gives a short page by cursor', async () => {
  const core = await openCore();
  const key = await partOfSegment(core, '/z');
  for (let n = 0; n < 450; n += 1) await core.token({ type: 'token', data: 1, containers: ['/qa/'] });
  let seconds = 1;
  // Each look at the time is 1 s after the last one.
  vi.spyOn(process, 'uptime').mockImplementation(() => (seconds += 1));
  const page = await core.client.call({ operation: 'listTokensByCursor', apiKey: key, params: {}, query: [] });
  const { data, pagination } = JSON.parse(page.bodyText ?? '');
  expect([page.status, data]).toEqual([200, []]);
  expect(pagination.next).toEqual(expect.any(String));
  seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => (seconds += 3));
  const numbered = await core.client.call({ operation: 'listTokens', apiKey: key, params: {}, query: [] });
  expect([numbered.status, JSON.parse(numbered.bodyText ?? '').type]).toEqual([
    400,
    expect.stringContaining('too_expensive'),
  ]);
});

it('the reply to a create waits for no room, because the token exists; an update waits before its change', async () => {
  const core = await openCore({ limits: { body: 4 * MIB } });
  const id = await core.token({ type: 'token', data: 'x'.repeat(3_250_000) });
  const grown = await core.token({ type: 'token', data: 'x'.repeat(3_250_000) });
  const unread: Reply[] = [];
  for (let n = 0; n < 7; n += 1) unread.push(await ask(core, core.key, id));
  const bodyText = JSON.stringify({ type: 'token', data: 1, mask: 'x'.repeat(900_000) });
  const create = {
    operation: 'createToken',
    apiKey: core.key,
    mediaType: 'application/json',
    params: {},
    bodyText,
  } as const;
  // All of them have more than 32 MiB.
  for (let n = 0; n < 16; n += 1) unread.push(await take(core, create));
  expect(new Set(unread.map(({ status }) => status))).toEqual(new Set([200, 201]));
  let isUpdated = false;
  const updating = core.own('updateToken', { id: grown, body: { metadata: { a: '1' } } });
  void updating.then(() => {
    isUpdated = true;
  });
  await sleep(500);
  expect(isUpdated).toBe(false);
  for (const reply of unread) reply.sent?.();
  expect((await updating).status).toBe(200);
});

it('a wait for the log ends when its client has left', async () => {
  const core = await openCore();
  const { data } = JSON.parse((await core.manage('listLogs', { query: 'size=1' })).text);
  const began = performance.now();
  const query = [
    ['after', data[0].id],
    ['entity_id', 'none'],
    ['wait', '3'],
  ] as const;
  // It leaves while it waits.
  const isAbandoned = () => performance.now() - began > 200;
  const left = { operation: 'listLogs' as const, apiKey: core.management, params: {}, query, isAbandoned };
  expect((await core.client.call(left)).status).toBe(408);
  expect(performance.now() - began).toBeLessThan(1_000);
});

it('what a scan opens after it waited for its store counts as its work', async () => {
  let seconds = 1;
  let scans = 0;
  const storeOf = (file: Store): Store => ({
    ...file,
    findTokens: async () => ({ records: [], total: 1_000 }),
    async scanTokens() {
      for (let turn = 0; turn < 3; turn += 1) await immediate();
      scans += 1;
      // Opening takes 2 s.
      const entries = () => {
        seconds += 2;
        return [].entries();
      };
      const records = Object.assign([], { entries });
      return { records, next: scans < 20 ? { created_at: 1, id: 'a' } : undefined };
    },
  });
  const core = await openCore({ storeOf });
  const key = await partOfSegment(core, '/z');
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  const { status } = await core.client.call({ operation: 'listTokens', apiKey: key, params: {}, query: [] });
  expect([status, scans]).toEqual([400, 3]);
});
