import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import {
  addTenant,
  addToken,
  applicationRecord,
  blind,
  createdBy,
  ENTRY,
  everything,
  FIRST_PAGE,
  keyRecord,
  MONTH,
  NOW,
  nextId,
  REMOVAL,
  sealed,
  tenantKeys,
  tenantRecord,
  tokenRecord,
  tombstoneOf,
} from './store-fixtures.ts';

export function storeTenants(store: () => Store): void {
  describe('tenants', () => {
    it('returns an inserted tenant', async () => {
      const { id, tenant, keys } = await addTenant(store(), {
        created_by: nextId(),
        modified_by: nextId(),
        modified_at: NOW + 1,
      });
      expect(await store().findTenant(id)).toEqual({ tenant, keys });
      expect(await store().findTenant(nextId())).toBeUndefined();
      expect(await store().findTenant('no uuid')).toBeUndefined();
      expect(await store().findTenant(id.toUpperCase())).toEqual(/[a-f]/.test(id) ? undefined : { tenant, keys });
    });

    it('lists them oldest first', async () => {
      const young = await addTenant(store(), { created_at: NOW - 10 });
      const old = await addTenant(store(), { created_at: NOW - 1000 });
      const twin = await addTenant(store(), { created_at: NOW - 1000 });
      const listed = await store().listTenantIds();
      const mine = [young.id, old.id, twin.id];
      expect(listed.filter((id) => mine.includes(id))).toEqual([old.id, twin.id, young.id]);
      expect((await store().findTenant(old.id))?.keys).toEqual(old.keys);
    });

    it('replaces a tenant at the expected revision only', async () => {
      const { id, tenant } = await addTenant(store());
      const next = { ...tenant, revision: 2, details: sealed('other'), modified_at: NOW + 5, modified_by: nextId() };
      expect(await store().replaceTenant(next, 2, ENTRY)).toBe(false);
      expect((await store().findTenant(id))?.tenant).toEqual(tenant);
      expect(await store().replaceTenant(next, 1, ENTRY)).toBe(true);
      expect((await store().findTenant(id))?.tenant).toEqual(next);
      expect(await store().replaceTenant({ ...next, revision: 3 }, 1, ENTRY)).toBe(false);
      expect(await store().replaceTenant(tenantRecord(), 1, ENTRY)).toBe(false);
    });

    it('accepts one of two writes at the same revision', async () => {
      const { tenant } = await addTenant(store());
      const writes = ['a', 'b'].map((text) =>
        store().replaceTenant({ ...tenant, revision: 2, details: sealed(text) }, 1, ENTRY),
      );
      expect((await Promise.all(writes)).sort()).toEqual([false, true]);
    });

    it('deletes a tenant with all its records, and no others', async () => {
      const gone = await addTenant(store());
      const other = await addTenant(store());
      const tokens = await Promise.all([gone, other].map(({ id }) => addToken(store(), id, { id: 'same' }, ['x'])));
      const removed = await addToken(store(), gone.id, { id: 'removed' });
      await store().deleteToken(tombstoneOf(removed), 1, ENTRY);

      expect(await store().deleteTenant(gone.id, ENTRY)).toBe(true);
      expect(await store().deleteTenant(gone.id, ENTRY)).toBe(false);
      expect(await store().findTenant(gone.id)).toBeUndefined();
      expect(await store().findAuthority(gone.key.hash, NOW)).toBeUndefined();
      expect(await store().findToken(gone.id, 'same', NOW)).toBeUndefined();
      expect(await store().findTokens(everything(gone.id), FIRST_PAGE, NOW)).toEqual({ records: [], total: 0 });
      expect(await store().usage(gone.id, MONTH, NOW)).toEqual({ types: [], active: 0 });
      expect(await store().findToken(other.id, 'same', NOW)).toEqual(tokens[1]);
      expect(await store().findAuthority(other.key.hash, NOW)).toBeDefined();
    });

    it('rejects a write for a deleted tenant', async () => {
      const { id } = await addTenant(store());
      const rejected = { code: 'unauthenticated' };
      await store().deleteTenant(id, ENTRY);
      await expect(addToken(store(), id)).rejects.toMatchObject(rejected);
      await expect(store().insertApplication(applicationRecord(id), ENTRY)).rejects.toMatchObject(rejected);
      const token = tokenRecord(id);
      expect(
        await store().replaceToken(token, { fingerprint: blind('f'), others: [] }, { revision: 1, now: NOW }, ENTRY),
      ).toBe(false);
      expect(await store().deleteToken(tombstoneOf(token), 1, ENTRY)).toBe(false);
      expect(await store().replaceApplication(applicationRecord(id), 1, ENTRY)).toBe(false);
      expect(await store().deleteApplication(id, nextId(), 1, REMOVAL)).toBe(false);
      expect(await store().findDuplicate(id, blind('f'), '', NOW)).toBeUndefined();
      const key = keyRecord(applicationRecord(id));
      await expect(store().insertApplicationKey(key, { most: 10, now: NOW }, ENTRY)).resolves.toBe(false);
      expect(await store().deleteApplicationKey(id, nextId(), nextId(), REMOVAL)).toBe(false);
      expect(await store().findApplicationKeys(id, nextId(), NOW)).toEqual([]);
      await store().markKeysUsed(id, [key.id], 20_600);
      await store().markActive(id, ['any'], MONTH);
    });

    it('starts empty for a tenant with the id of a deleted one', async () => {
      const first = await addTenant(store());
      const token = await addToken(store(), first.id, { id: 'again' });
      await store().deleteTenant(first.id, ENTRY);
      await addTenant(store(), { id: first.id });
      expect(await store().findToken(first.id, 'again', NOW)).toBeUndefined();
      expect(await addToken(store(), first.id, { id: 'again' })).toMatchObject({ id: token.id });
    });

    it('stores nothing of a tenant whose application cannot be stored', async () => {
      const { application } = await addTenant(store());
      const tenant = tenantRecord();
      const orphan = applicationRecord(tenant.id, createdBy(application));
      const first = { application: orphan, key: keyRecord(orphan) };
      await expect(store().insertTenant(tenant, tenantKeys(tenant.id), first, ENTRY)).rejects.toThrow();
      expect(await store().findTenant(tenant.id)).toBeUndefined();
    });
  });
}
