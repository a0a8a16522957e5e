import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApplicationRecord, Store, TokenRecord, WrappedKey } from '../../src/core/ports.ts';
import {
  addTenant,
  addToken,
  applicationRecord,
  blind,
  ENTRY,
  everything,
  idsOf,
  indexes,
  keyRecord,
  NOW,
  nextId,
  type OpenedStore,
  type OpenStore,
  sealed,
  tenantKeys,
  tenantRecord,
  tokenRecord,
} from './store-fixtures.ts';

const NEW_KEY: WrappedKey = {
  key_id: 3,
  purpose: 'data',
  generation: 1,
  wrapped: sealed('key 3'),
  created_at: NOW + 1,
};
const CONFLICT = { code: 'write_conflict' };

/** Uses a new store for each test, because a new master key affects all tenants of a store. */
export function storeMaintenance(open: OpenStore): void {
  describe('keys and inspection', () => {
    let opened: OpenedStore;
    let store: Store;
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.dispose());

    const current = { key_id: 3, index_key_id: 2 };
    const resealed = (before: TokenRecord, parts: Partial<TokenRecord> = {}) => ({
      before,
      after: { ...before, ...current, full: sealed(`anew ${before.id}`), ...parts },
    });

    it('adds a key once, for an existing tenant and under the current master key', async () => {
      const { id, keys } = await addTenant(store);
      expect(await store.addTenantKey(nextId(), NEW_KEY, ENTRY)).toBe(false);
      expect(await store.addTenantKey(id, { ...NEW_KEY, key_id: 2 }, ENTRY)).toBe(false);
      expect(await store.addTenantKey(id, { ...NEW_KEY, generation: 2 }, ENTRY)).toBe(false);
      expect((await store.findTenant(id))?.keys).toEqual(keys);
      expect(await store.addTenantKey(id, NEW_KEY, ENTRY)).toBe(true);
      expect(await store.addTenantKey(id, NEW_KEY, ENTRY)).toBe(false);
      expect((await store.findTenant(id))?.keys).toEqual([...keys, NEW_KEY]);
    });

    it('rejects records under an older or unknown key', async () => {
      const { id, tenant, application } = await addTenant(store);
      const token = await addToken(store, id);
      await store.addTenantKey(id, NEW_KEY, ENTRY);
      const insert = (parts: Partial<TokenRecord>) =>
        store.insertToken(tokenRecord(id, parts), indexes('f'), { deduplicate: false, now: NOW }, ENTRY);
      for (const key_id of [1, 2, 4]) {
        await expect(insert({ key_id })).rejects.toMatchObject(CONFLICT);
        await expect(store.insertApplication(applicationRecord(id, { key_id }), ENTRY)).rejects.toMatchObject(CONFLICT);
        const next = { ...application, key_id, revision: 2 };
        await expect(store.replaceApplication(next, 1, ENTRY)).rejects.toMatchObject(CONFLICT);
        await expect(store.replaceTenant({ ...tenant, key_id, revision: 2 }, 1, ENTRY)).rejects.toMatchObject(CONFLICT);
        const replacement = { ...token, key_id, revision: 2 };
        await expect(
          store.replaceToken(replacement, indexes('f'), { revision: 1, now: NOW }, ENTRY),
        ).rejects.toMatchObject(CONFLICT);
      }
      await expect(insert({ key_id: 3, index_key_id: 1 })).rejects.toMatchObject(CONFLICT);
      expect(await insert({ key_id: 3 })).toEqual({ outcome: 'inserted' });
      expect(await store.findToken(id, token.id, NOW)).toEqual(token);
    });

    it('rejects a tenant whose keys another master key wrapped', async () => {
      const tenant = tenantRecord();
      const keys = tenantKeys(tenant.id).map((key) => ({ ...key, generation: 2 }));
      const management = applicationRecord(tenant.id, { type: 'management' });
      await expect(
        store.insertTenant(tenant, keys, { application: management, key: keyRecord(management) }, ENTRY),
      ).rejects.toMatchObject(CONFLICT);
      expect(await store.listTenantIds()).toEqual([]);
    });

    it('counts records under older keys, including expired ones, and reseals them only if unchanged', async () => {
      const { id, tenant, application, key } = await addTenant(store);
      const other = await addTenant(store);
      await addToken(store, other.id);
      const old = await addToken(store, id, { id: 'old' }, ['x']);
      const gone = await addToken(store, id, { id: 'expired', expires_at: NOW });
      await store.addTenantKey(id, NEW_KEY, ENTRY);
      expect(await store.countStale(id, current)).toBe(5);
      expect(await store.countStale(id, { key_id: 1, index_key_id: 2 })).toBe(0);
      // Count it as active in between: a rotation does not change the month.
      await store.markActive(id, ['old'], old.active_month + 1);
      const changed = { ...resealed(old), before: { ...old, revision: 2 } };
      const already = { ...resealed(old), before: { ...old, key_id: 2 } };
      expect(await store.resealTokens(id, [changed, already, resealed(tokenRecord(id))])).toBe(0);
      expect(await store.resealTokens(id, [resealed(old), resealed(gone)])).toBe(2);
      expect(await store.resealTokens(id, [resealed(old)])).toBe(0);
      const { full } = resealed(old).after;
      const active_month = old.active_month + 1;
      expect(await store.findToken(id, 'old', NOW)).toEqual({ ...old, ...current, full, active_month });
      expect(await idsOf(store, { tenant_id: id, all: [{ index_in: [blind('x')] }] })).toEqual(['old']);

      expect(await store.replaceApplication({ ...application, key_id: 3 }, application.revision, ENTRY)).toBe(true);
      expect(await store.replaceTenant({ ...tenant, key_id: 3 }, tenant.revision, ENTRY)).toBe(true);
      // Use it in between: a rotation does not change the day.
      await store.markKeysUsed(id, [key.id], 20_600);
      const sealedAgain = { ...key, key_id: 3, seal: sealed('again') };
      await expect(store.resealApplicationKeys(id, [key])).rejects.toMatchObject(CONFLICT);
      expect(await store.resealApplicationKeys(id, [sealedAgain, { ...sealedAgain, id: nextId() }])).toBe(1);
      const last_used_day = 20_600;
      expect(await store.findApplicationKeys(id, application.id, NOW)).toEqual([{ ...sealedAgain, last_used_day }]);
      expect(await store.countStale(id, current)).toBe(0);
    });

    it('gives a token other blind indexes when its index key changes', async () => {
      const { id } = await addTenant(store);
      const token = await addToken(store, id, { id: 'a' }, ['x', 'kept']);
      const key: WrappedKey = { ...NEW_KEY, purpose: 'index' };
      await store.addTenantKey(id, key, ENTRY);
      const now = { key_id: 1, index_key_id: 3 };
      expect(await store.countStale(id, now)).toBe(1);
      const after = { ...token, ...now };
      expect(await store.resealTokens(id, [{ before: token, after, indexes: indexes('new', 'y', 'kept') }])).toBe(1);
      const find = (name: string) => idsOf(store, { tenant_id: id, all: [{ index_in: [blind(name)] }] });
      expect(await find('x')).toEqual([]);
      expect(await find('y')).toEqual(['a']);
      expect(await find('kept')).toEqual(['a']);
      expect(await find('fingerprint new')).toEqual(['a']);
    });

    it('finds a duplicate under an older index key, too', async () => {
      const { id } = await addTenant(store);
      const token = await addToken(store, id, { id: 'a' });
      const options = { deduplicate: true, now: NOW };
      const former = [blind('nothing'), blind('fingerprint a')];
      const twin = tokenRecord(id, { id: 'b' });
      expect(await store.insertToken(twin, { ...indexes('new'), former }, options, ENTRY)).toEqual({
        outcome: 'duplicate',
        token,
      });
      expect(await store.insertToken(twin, indexes('new'), options, ENTRY)).toEqual({ outcome: 'inserted' });
      expect(await idsOf(store, { tenant_id: id, all: [{ index_in: [blind('nothing')] }] })).toEqual([]);
    });

    it('destroys a key only when no record uses it and a newer one exists', async () => {
      const { id, tenant, application, keys, key } = await addTenant(store);
      const token = await addToken(store, id);
      expect(await store.removeTenantKey(id, 1, ENTRY)).toBe(false);
      await store.addTenantKey(id, NEW_KEY, ENTRY);
      const steps = [
        () => store.resealTokens(id, [resealed(token)]),
        () => store.replaceApplication({ ...application, key_id: 3 }, 1, ENTRY),
        () => store.resealApplicationKeys(id, [{ ...key, key_id: 3 }]),
        () => store.replaceTenant({ ...tenant, key_id: 3 }, 1, ENTRY),
      ];
      for (const step of steps) {
        expect(await store.removeTenantKey(id, 1, ENTRY)).toBe(false);
        await step();
      }
      expect(await store.removeTenantKey(id, 3, ENTRY)).toBe(false);
      expect(await store.removeTenantKey(nextId(), 1, ENTRY)).toBe(false);
      expect(await store.removeTenantKey(id, 1, ENTRY)).toBe(true);
      expect(await store.removeTenantKey(id, 1, ENTRY)).toBe(false);
      expect((await store.findTenant(id))?.keys).toEqual([...keys.slice(1), NEW_KEY]);
    });

    it('keeps an index key by which a token is found', async () => {
      const { id } = await addTenant(store);
      const token = await addToken(store, id);
      await store.addTenantKey(id, { ...NEW_KEY, purpose: 'index' }, ENTRY);
      expect(await store.removeTenantKey(id, 2, ENTRY)).toBe(false);
      await store.resealTokens(id, [{ before: token, after: { ...token, index_key_id: 3 } }]);
      expect(await store.removeTenantKey(id, 2, ENTRY)).toBe(true);
    });

    it('replaces the header only if it is unchanged', async () => {
      const before = await store.header();
      const after = { ...before, slots: [{ slot: 4, bytes: sealed('slot') }], mac: sealed('next', 32) };
      expect(await store.replaceHeader(after, { ...before, mac: sealed('other', 32) }, ENTRY)).toBe(false);
      expect(await store.replaceHeader(after, before, ENTRY)).toBe(true);
      expect(await store.header()).toEqual(after);
      expect(await store.replaceHeader(before, before, ENTRY)).toBe(false);
    });

    it('replaces the master key with all wrapped keys or not at all', async () => {
      const tenants = [await addTenant(store), await addTenant(store)];
      const before = await store.header();
      const after = { ...before, generation: 2, carried: sealed('carried', 141), mac: sealed('next', 32) };
      const all = tenants.map(({ id, keys }) => ({
        tenant_id: id,
        keys: keys.map((key) => ({ ...key, generation: 2, wrapped: sealed(`${id} ${key.key_id} again`) })),
      }));
      const [first, second] = all;
      if (first === undefined || second === undefined) throw new Error('unreachable');
      const incomplete = [[], [first], [first, { ...second, keys: second.keys.slice(1) }]];
      const otherKey = second.keys.map((key) => (key.key_id === 1 ? { ...key, key_id: 7 } : key));
      for (const keys of [...incomplete, [first, { ...second, keys: otherKey }], [first, first]]) {
        expect(await store.replaceMasterKey(after, before, keys, ENTRY)).toBe(false);
      }
      expect(await store.replaceMasterKey(after, { ...before, mac: sealed('other', 32) }, all, ENTRY)).toBe(false);
      expect(await store.header()).toEqual(before);
      expect((await store.findTenant(first.tenant_id))?.keys).toEqual(tenants[0]?.keys);

      expect(await store.replaceMasterKey(after, before, all, ENTRY)).toBe(true);
      expect(await store.header()).toEqual(after);
      for (const { tenant_id, keys } of all) expect((await store.findTenant(tenant_id))?.keys).toEqual(keys);
    });

    it('returns every row in order of id, with its blind indexes', async () => {
      const { id, application } = await addTenant(store);
      const made: TokenRecord[] = [];
      for (const name of ['b', 'a', 'é', 'B'])
        made.push(await addToken(store, id, { id: name, expires_at: NOW }, ['x']));
      const expected = ['B', 'a', 'b', 'é'].map((name) => ({
        id: name,
        record: made.find((token) => token.id === name),
        indexes: [blind(`fingerprint ${name}`), blind('x')],
      }));
      expect(await store.inspectRows('token', id, '', 10)).toEqual(expected);
      expect(await store.inspectRows('token', id, 'B', 2)).toEqual(expected.slice(1, 3));
      expect(await store.inspectRows('token', id, 'é', 2)).toEqual([]);
      expect(await store.inspectRows('token', nextId(), '', 2)).toEqual([]);
      const child: ApplicationRecord = applicationRecord(id, { type: 'expiring', expires_at: NOW });
      await store.insertApplication(child, ENTRY);
      const rows = [application, child].map((record) => ({ id: record.id, record, indexes: [] }));
      expect(await store.inspectRows('application', id, '', 10)).toEqual(rows);
      expect(await store.inspectRows('application', id, application.id, 10)).toEqual(rows.slice(1));
      expect(await store.inspect()).toEqual([]);
      expect(await idsOf(store, everything(id))).toEqual([]);
    });
  });
}
