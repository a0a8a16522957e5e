import { expect, it, onTestFinished } from 'vitest';
import type { ApplicationKeyRecord } from '../../src/core/application-ports.ts';
import type { Store } from '../../src/core/ports.ts';
import { createActivity, monthOf } from '../../src/core/tokens/activity.ts';
import { steppingClock } from '../fixed-world.ts';
import { idsOf, openCore, rule } from './core-fixture.ts';
import { callVault } from './vault-admin-fixture.ts';

const NOW = Date.UTC(2026, 2, 1);

it('keeps activity while the disk is full and writes it with the next flush', async () => {
  const written: unknown[] = [];
  let isFull = true;
  const store: Pick<Store, 'markActive'> = {
    markActive: async (tenantId, ids, month) => {
      if (isFull) throw new Error('no space');
      written.push([tenantId, [...ids], month]);
    },
  };
  const activity = createActivity(store as Store, steppingClock(NOW));
  activity.note([{ tenant_id: 't', id: 'one', active_month: 0 }]);
  await activity.flush();
  activity.note([{ tenant_id: 't', id: 'two', active_month: 0 }]);
  isFull = false;
  await activity.flush();
  expect(written).toEqual([['t', ['one', 'two'], monthOf(NOW)]]);
  await activity.flush();
  expect(written).toHaveLength(1);
});

it('writes the use of a key once a day, and again after the uses of 10,000 other keys', async () => {
  const written: string[] = [];
  const store: Pick<Store, 'markKeysUsed'> = { markKeysUsed: async (_tenantId, ids) => void written.push(...ids) };
  const clock = steppingClock(NOW);
  const activity = createActivity(store as Store, clock);
  const use = async (id: string) => {
    activity.noteKey({ tenant_id: 't', id, created_at: NOW, last_used_day: 0 } as ApplicationKeyRecord);
    await activity.flush();
    return written.splice(0);
  };
  expect([await use('own'), await use('own')]).toEqual([['own'], []]);
  for (let n = 0; n < 10_000; n++) await use(`key-${n}`);
  expect([await use('own'), await use('own')]).toEqual([['own'], []]);
  clock.advance(86_400_000);
  expect(await use('own')).toEqual(['own']);
});

it('the usage report counts a token once a month that was created, or shown by a get or on a page', async () => {
  const core = await openCore();
  const active = async () => (await core.manage('getUsageReport')).at('token_report.monthly_active_tokens');
  const [id, expires_at] = ['kept', '2026-05-02'];
  await core.token({ type: 'token', data: 1, id, expires_at });
  for (const data of [2, 3]) await core.token({ type: 'token', data, containers: ['/x/'] });
  await core.own('getToken', { id });
  expect(await active()).toBe(3);
  core.clock.set(Date.UTC(2026, 4, 1));
  const rules = [rule({ container: '/y/' })];
  const other = await core.application({ name: 'other', type: 'private', rules });
  expect((await core.call(other, 'getToken', { id })).status).toBe(403);
  await core.own('updateToken', { id, body: { metadata: { a: 'b' } } });
  expect(await active()).toBe(0);
  for (let round = 0; round < 2; round += 1) await core.own('getToken', { id });
  expect(await active()).toBe(1);
  const [shown] = idsOf(await core.own('listTokens', { query: 'size=1&container=/x/' }));
  await core.own('deleteToken', { id: shown ?? '' });
  core.clock.set(Date.UTC(2026, 4, 2));
  expect(await core.vault.sweep()).toBe(1);
  expect(await active()).toBe(2);
});

/** Opens a vault with one token of last month. Writes of activity wait until `open` or the end of the test. */
async function slowBookkeeping() {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const seen = { writes: 0 };
  const slow = await openCore({
    storeOf: (file) => ({
      ...file,
      async markActive(...words) {
        seen.writes++;
        await gate;
        return file.markActive(...words);
      },
    }),
  });
  onTestFinished(() => open());
  const id = await slow.token({ type: 'token', data: 1 });
  slow.clock.set(Date.UTC(2026, 3, 1));
  const read = async (operation: 'getToken' | 'listTokens' = 'getToken') =>
    (await callVault(slow.vault, slow.key, operation, operation === 'getToken' ? { id } : {})).status;
  expect(await read()).toBe(200);
  await expect.poll(() => seen.writes, { timeout: 5_000 }).toBe(1);
  return { slow, open, read };
}

it('no read waits for activity to be written', async () => {
  const { read } = await slowBookkeeping();
  expect([await read(), await read('listTokens')]).toEqual([200, 200]);
});

it('the usage report waits for activity that is being written', async () => {
  const { slow, open } = await slowBookkeeping();
  setTimeout(open, 50);
  expect((await slow.manage('getUsageReport')).at('token_report.monthly_active_tokens')).toBe(1);
});
