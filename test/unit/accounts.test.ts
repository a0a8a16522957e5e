import { afterEach, expect, it, vi } from 'vitest';
import type { Reply } from '../../src/contract/call.ts';
import { type Core, openCore, rule } from './core-fixture.ts';

afterEach(() => vi.restoreAllMocks());

const MIB = 1024 * 1024;

const CREATING = {
  can_create_expiring_applications: true,
  permissions: ['token:read'],
  type: 'private',
  name: 'parent',
};

/** Calls as a daemon does, and resolves to the reply, whose client has not read it. */
async function ask({ vault }: Core, apiKey: string, id: string): Promise<Reply> {
  await vault.ready();
  return new Promise((resolve) => {
    vault.take({ operation: 'getToken', apiKey, params: { id }, query: [] }, resolve);
  });
}

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

it('a small reply does not count', async () => {
  const core = await openCore();
  const id = await core.token({ type: 'token', data: 'x'.repeat(1_000) });
  expect((await ask(core, core.key, id)).sent).toBeUndefined();
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
  const condition = { attribute: 'container', operator: 'starts_with', value: '/z' };
  // The indexes cannot decide such a rule.
  const key = await core.application({
    name: 'scan',
    type: 'expiring',
    rules: [rule({ container: undefined, conditions: [condition] })],
  });
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
