import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { containerSets } from '../../src/store/postgres/container-sets.ts';
import { MAX_SET_NUMBER } from '../../src/store/rows/container-sets.ts';
import { addTenant, blind, ENTRY, indexes, NOW, tokenRecord, tombstoneOf } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';
import { openTwoStores } from './open-twice.ts';
import { transactionOf } from './write-of.ts';

let stores: readonly [Store, Store];
let url: string;
beforeAll(async () => {
  url = await createDatabase();
  stores = await openTwoStores(url);
});
afterAll(() => Promise.all(stores.map((each) => each.close())));

const OPTIONS = { deduplicate: false, now: NOW };

async function add(store: Store, tenantId: string, ...containers: readonly string[]) {
  const token = tokenRecord(tenantId);
  expect(await store.insertToken(token, indexes(token.id, ...containers), OPTIONS, ENTRY)).toEqual({
    outcome: 'inserted',
  });
  return token;
}

async function idsIn(store: Store, tenant_id: string, container: string) {
  const filter = { tenant_id, all: [{ index_in: [blind(container)] }] };
  return (await store.findTokens(filter, { offset: 0, limit: 100 }, NOW)).records?.map(({ id }) => id).sort();
}

/** Returns the numbers of the container sets, and how many tokens each has. */
const setsOf = async (tenantId: string) =>
  (await openClient(url)).run(
    {
      text: `SELECT number, (SELECT count(*) FROM vault.token t WHERE t.tenant = s.tenant AND t.set_number = s.number
          AND deleted_at IS NULL)
        FROM vault.container_set s WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $1) ORDER BY number`,
    },
    [tenantId],
  );

it('two daemons that add sets at the same time give each set one number, up to the maximum', async () => {
  const [one, two] = stores;
  const { id } = await addTenant(one);
  const names = Array.from({ length: MAX_SET_NUMBER + 3 }, (_, n) => `/${n}/`);
  const added = await Promise.all(names.flatMap((name) => [add(one, id, '/', name), add(two, id, '/', name)]));
  const sets = await setsOf(id);
  expect(sets).toEqual(Array.from({ length: MAX_SET_NUMBER }, (_, n) => [n + 1, 2]));
  for (const [n, name] of names.entries()) {
    const ids = [added[2 * n]?.id, added[2 * n + 1]?.id].sort();
    for (const store of stores) expect(await idsIn(store, id, name)).toEqual(ids);
  }
  expect(await idsIn(two, id, '/')).toHaveLength(2 * names.length);
  expect(await one.inspect()).toEqual([]);
});

it('a daemon asks once a minute for a number of a tenant that has no free one', async () => {
  let asked = 0;
  const sets = containerSets({
    change: (change) => {
      asked += 1;
      return change(transactionOf(async () => [[false, false]]));
    },
  });
  const addSets = (tenantId: string) =>
    Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        const written = { token: tokenRecord(tenantId), indexes: indexes('x', `/${n}/`) };
        return sets.ensured([written], () => Promise.resolve('written'));
      }),
    );
  expect(new Set(await addSets('one'))).toEqual(new Set(['written']));
  await addSets('one');
  expect(asked).toBe(1);
  await addSets('two');
  expect(asked).toBe(2);
  const later = vi.spyOn(process, 'uptime').mockReturnValue(process.uptime() + 61);
  await addSets('one');
  later.mockRestore();
  expect(asked).toBe(3);
});

it('sets that wait for one that cannot be added fail with it, and later ones are added', async () => {
  const answers = [Promise.reject(new Error('no database')), Promise.resolve(true)];
  const sets = containerSets({ change: <T>() => (answers.shift() ?? Promise.reject()) as Promise<T> });
  const addSet = (name: string) =>
    sets.ensured([{ token: tokenRecord('tenant'), indexes: indexes('x', name) }], () => Promise.resolve('written'));
  const added = ['/a/', '/b/', '/c/'].map((name) => addSet(name).catch((error: Error) => error.message));
  expect(await Promise.all(added)).toEqual(['no database', 'no database', 'no database']);
  expect(await addSet('/b/')).toBe('written');
});

it('a set is removed with its index key, and with its tenant', async () => {
  const [one, two] = stores;
  const { id } = await addTenant(one);
  const token = await add(one, id, '/old/');
  const key = { key_id: 3, purpose: 'index', generation: 1, wrapped: new Uint8Array(1), created_at: NOW } as const;
  expect(await one.addTenantKey(id, key, ENTRY)).toBe(true);
  const after = { ...token, index_key_id: 3 };
  expect(await two.resealTokens(id, [{ before: token, after, indexes: indexes(token.id, '/new/') }])).toBe(1);
  expect(await setsOf(id)).toEqual([
    [1, 0],
    [2, 1],
  ]);
  expect(await one.removeTenantKey(id, 2, ENTRY)).toBe(true);
  expect(await setsOf(id)).toEqual([[2, 1]]);
  expect([await idsIn(one, id, '/old/'), await idsIn(one, id, '/new/')]).toEqual([[], [token.id]]);
  expect(await one.inspect()).toEqual([]);

  await one.deleteTenant(id, ENTRY);
  expect(
    await (await openClient(url)).run({ text: 'SELECT count(*) FROM vault.container_set WHERE index_key_id = 3' }),
  ).toEqual([[0]]);
});

it('a token is found when the set that its daemon remembers was lost in a failover', async () => {
  const [one, two] = stores;
  const { id } = await addTenant(one);
  const lost = await add(one, id, '/lost/');
  expect(await one.deleteToken(tombstoneOf(lost), 1, ENTRY)).toBe(true);
  await (await openClient(url)).run({ text: 'DELETE FROM vault.container_set WHERE containers = ARRAY[$1::uuid]' }, [
    Buffer.from(blind('/lost/')).toString('hex'),
  ]);
  const token = await add(one, id, '/lost/');
  const other = await add(two, id, '/other/');
  expect(await idsIn(two, id, '/lost/')).toEqual([token.id]);
  expect(await idsIn(two, id, '/other/')).toEqual([other.id]);
  expect(await one.inspect()).toEqual([]);
});
