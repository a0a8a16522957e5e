import { describe, expect, it } from 'vitest';
import type { EndedRecord } from '../../src/core/audit/ports.ts';
import type { Store } from '../../src/core/ports.ts';
import {
  addTenant,
  addToken,
  applicationRecord,
  ENTRY,
  EXPIRY_RECORDER,
  endedNames,
  FIRST_PAGE,
  NOW,
  nextId,
  sealed,
} from './store-fixtures.ts';

export function storeApplications(store: () => Store): void {
  describe('applications', () => {
    it('returns an inserted application by id and by key', async () => {
      const { id, tenant, keys } = await addTenant(store());
      const parent = applicationRecord(id);
      await store().insertApplication(parent, ENTRY);
      const application = applicationRecord(id, {
        type: 'expiring',
        parent_id: parent.id,
        created_by: parent.id,
        modified_by: nextId(),
        modified_at: NOW + 1,
        expires_at: NOW + 60_000,
      });
      await store().insertApplication(application, ENTRY);
      expect(await store().findApplication(id, application.id, NOW)).toEqual(application);
      expect(await store().findApplication(id, parent.id, NOW)).toEqual(parent);
      expect(await store().findAuthority(application.key_hash, NOW)).toEqual({ application, tenant, keys });
      expect(await store().findAuthority(sealed('unknown', 32), NOW)).toBeUndefined();
      expect(await store().findApplication(id, nextId(), NOW)).toBeUndefined();
      expect(await store().findApplication(id, 'no uuid', NOW)).toBeUndefined();
    });

    it('grants the sweep to one caller an interval', async () => {
      const hour = 3_600_000;
      const start = NOW + 10 * hour;
      const claims = await Promise.all([1, 2, 3].map(() => store().claimSweep(start, hour)));
      expect(claims.filter(Boolean)).toHaveLength(1);
      expect(await store().claimSweep(start + hour - 1, hour)).toBe(false);
      expect(await store().claimSweep(start + hour, hour)).toBe(true);
      expect(await store().claimSweep(start + 1, hour)).toBe(false);
      // The clock was 10 hours ahead before, or is 10 hours behind now.
      expect(await store().claimSweep(start - 10 * hour, hour)).toBe(true);
    });

    it('keeps a clock note that only one of two writers replaces', async () => {
      expect(await store().clockNote()).toBe('');
      const written = await Promise.all(['a', 'b'].map((note) => store().replaceClockNote(note, '')));
      expect(written.filter(Boolean)).toHaveLength(1);
      expect(await store().clockNote()).toBe(written[0] === true ? 'a' : 'b');
    });

    it('finds the latest expiry at or before an instant', async () => {
      const { id } = await addTenant(store());
      expect(await store().latestExpiry(NOW)).toBe(0);
      const expiring = applicationRecord(id, { type: 'expiring', expires_at: NOW + 100 });
      await store().insertApplication(expiring, ENTRY);
      await addToken(store(), id, { expires_at: NOW + 200 });
      expect(await store().latestExpiry(NOW + 99)).toBe(0);
      expect(await store().latestExpiry(NOW + 100)).toBe(NOW + 100);
      expect(await store().latestExpiry(NOW + 5000)).toBe(NOW + 200);
      await store().removeExpired(NOW + 5000, 1000, EXPIRY_RECORDER);
      expect(await store().latestExpiry(NOW + 5000)).toBe(0);
    });

    it('finds the next expiry after an instant', async () => {
      const { id } = await addTenant(store());
      await addToken(store(), id, { expires_at: NOW - 100 });
      expect(await store().nextExpiry(NOW - 300)).toBe(NOW - 100);
      const expiring = applicationRecord(id, { type: 'expiring', expires_at: NOW - 200 });
      await store().insertApplication(expiring, ENTRY);
      expect(await store().nextExpiry(NOW - 300)).toBe(NOW - 200);
      expect(await store().nextExpiry(NOW - 200)).toBe(NOW - 100);
      expect(await store().nextExpiry(NOW - 100)).not.toBe(NOW - 100);
      expect(await store().nextExpiry(NOW + 1e12)).toBeUndefined();
      await store().removeExpired(NOW - 100, 1000, EXPIRY_RECORDER);
      expect(await store().nextExpiry(NOW - 300)).not.toBe(NOW - 200);
    });

    it('hides an expired application at once and removes it in the sweep', async () => {
      const { id } = await addTenant(store());
      const application = applicationRecord(id, { type: 'expiring', expires_at: NOW + 100 });
      await store().insertApplication(application, ENTRY);
      const seen = async (now: number) => [
        (await store().findApplication(id, application.id, now)) !== undefined,
        (await store().findAuthority(application.key_hash, now)) !== undefined,
        (await store().findApplications({ tenant_id: id, ids: [application.id] }, FIRST_PAGE, now)).total === 1,
      ];
      expect(await seen(NOW + 99)).toEqual([true, true, true]);
      expect(await seen(NOW + 100)).toEqual([false, false, false]);
      expect(await store().removeExpired(NOW + 99, 1000, EXPIRY_RECORDER)).toBe(0);
      expect(await store().removeExpired(NOW + 100, 1000, EXPIRY_RECORDER)).toBe(1);
      expect(await seen(NOW)).toEqual([false, false, false]);
    });

    it('replaces an application at the expected revision only, and its old key stops', async () => {
      const { id } = await addTenant(store());
      const application = applicationRecord(id);
      await store().insertApplication(application, ENTRY);
      const next = { ...application, key_hash: sealed('new key', 32), revision: 2, modified_at: NOW + 1 };
      expect(await store().replaceApplication(next, 7, ENTRY)).toBe(false);
      expect(await store().findAuthority(application.key_hash, NOW)).toBeDefined();
      expect(await store().replaceApplication(next, 1, ENTRY)).toBe(true);
      expect(await store().findAuthority(application.key_hash, NOW)).toBeUndefined();
      expect((await store().findAuthority(next.key_hash, NOW))?.application).toEqual(next);
      expect(await store().replaceApplication(applicationRecord(id), 1, ENTRY)).toBe(false);
    });

    it('lists newest first with ties by id, by page, by ids, by types, within the tenant', async () => {
      const { id, application: first } = await addTenant(store());
      const { id: other } = await addTenant(store());
      const ages = [5, 1, 3, 3, 9];
      const made = ages.map((age) => applicationRecord(id, { created_at: NOW + 1000 - age }));
      for (const application of made) await store().insertApplication(application, ENTRY);
      const order = [1, 2, 3, 0, 4].map((index) => made[index]?.id);

      const page = (offset: number, limit: number, ids?: readonly string[]) =>
        store()
          .findApplications({ tenant_id: id, ids }, { offset, limit }, NOW)
          .then(({ records, total }) => ({ ids: records.map((record) => record.id), total }));
      expect(await page(0, 100)).toEqual({ ids: [...order, first.id], total: 6 });
      expect(await page(1, 2)).toEqual({ ids: order.slice(1, 3), total: 6 });
      expect(await page(6, 2)).toEqual({ ids: [], total: 6 });
      expect(await page(0, 100, [])).toEqual({ ids: [], total: 0 });
      const some = [made[4]?.id ?? '', made[1]?.id ?? '', nextId(), 'no uuid', made[1]?.id ?? ''];
      expect(await page(0, 100, some)).toEqual({ ids: [made[1]?.id, made[4]?.id], total: 2 });
      expect((await store().findApplications({ tenant_id: other, ids: some }, FIRST_PAGE, NOW)).total).toBe(0);

      const expiring = applicationRecord(id, { type: 'expiring', expires_at: NOW + 100 });
      await store().insertApplication(expiring, ENTRY);
      const all = [...made, first, expiring];
      for (const types of [['expiring'], ['private'], ['expiring', 'private'], ['public'], []] as const) {
        const expected = new Set(all.filter(({ type }) => types.some((each) => each === type)).map((each) => each.id));
        const { records, total } = await store().findApplications({ tenant_id: id, types }, FIRST_PAGE, NOW);
        expect([new Set(records.map((record) => record.id)), total]).toEqual([expected, expected.size]);
      }
      const both = { tenant_id: id, ids: [...some, expiring.id], types: ['expiring'] } as const;
      expect((await store().findApplications(both, FIRST_PAGE, NOW)).records).toEqual([expiring]);
    });

    it('deletes an application with the expiring ones that it created, but not its tokens', async () => {
      const { id } = await addTenant(store());
      const parent = applicationRecord(id);
      const stranger = applicationRecord(id);
      await store().insertApplication(parent, ENTRY);
      await store().insertApplication(stranger, ENTRY);
      const child = (of: string) => applicationRecord(id, { type: 'expiring', parent_id: of, expires_at: NOW + 9 });
      const children = [child(parent.id), child(parent.id), child(stranger.id)];
      for (const each of children) await store().insertApplication(each, ENTRY);
      const token = await addToken(store(), id);

      expect(await store().deleteApplication(id, parent.id, 2, () => ENTRY)).toBe(false);
      expect(await store().deleteApplication(id, parent.id, 1, () => ENTRY)).toBe(true);
      expect(await store().deleteApplication(id, parent.id, 1, () => ENTRY)).toBe(false);
      const left = await Promise.all(children.map((each) => store().findAuthority(each.key_hash, NOW)));
      expect(left.map((authority) => authority !== undefined)).toEqual([false, false, true]);
      expect(await store().findToken(id, token.id, NOW)).toEqual(token);
      // The deleted application cannot be the parent of a new one either.
      await expect(store().insertApplication(child(parent.id), ENTRY)).rejects.toMatchObject({
        code: 'unauthenticated',
      });
    });

    it('ends the expiring applications of a replaced key in the same change', async () => {
      const { id } = await addTenant(store());
      const parent = applicationRecord(id);
      const stranger = applicationRecord(id);
      for (const each of [parent, stranger]) await store().insertApplication(each, ENTRY);
      const child = (of: string) => applicationRecord(id, { type: 'expiring', parent_id: of, expires_at: NOW + 9 });
      const [first, other] = [child(parent.id), child(stranger.id)];
      const second = { ...child(parent.id), revision: 7 };
      for (const each of [first, second, other]) await store().insertApplication(each, ENTRY);
      const count = async (parent_id: string, now = NOW) =>
        (await store().findApplications({ tenant_id: id, parent_id }, { offset: 0, limit: 0 }, now)).total;
      expect([await count(parent.id), await count(stranger.id), await count(other.id)]).toEqual([2, 1, 0]);
      expect(await count(parent.id, NOW + 9)).toBe(0);

      const ended: (readonly string[])[] = [];
      const end = (removed: readonly EndedRecord[]) => {
        ended.push(endedNames(removed));
        return ENTRY;
      };
      const next = { ...parent, key_hash: sealed('another key', 32), revision: 2 };
      expect(await store().replaceApplication({ ...next, key_hash: parent.key_hash }, 1, ENTRY)).toBe(true);
      expect(await store().replaceApplication(next, 1, ENTRY, end)).toBe(false);
      expect(await count(parent.id)).toBe(2);
      expect(await store().replaceApplication({ ...next, revision: 3 }, 2, ENTRY, end)).toBe(true);
      expect(await store().replaceApplication({ ...next, revision: 4 }, 3, ENTRY, end)).toBe(true);
      expect(ended.map((names) => names.toSorted())).toEqual([[`1 ${first.id}`, `7 ${second.id}`]]);
      const left = await Promise.all([first, second, other].map((each) => store().findAuthority(each.key_hash, NOW)));
      expect(left.map((authority) => authority?.application.id)).toEqual([undefined, undefined, other.id]);
    });

    it('inserts an expiring application only for the key of its creator, and up to a number of live ones', async () => {
      const LATEST = NOW + 10_000;
      const { id } = await addTenant(store());
      const parent = applicationRecord(id);
      await store().insertApplication(parent, ENTRY);
      const insert = (expires_at: number, minting: object = {}) => {
        const child = applicationRecord(id, { type: 'expiring', parent_id: parent.id, expires_at });
        return store().insertApplication(child, ENTRY, {
          key_hash: parent.key_hash,
          most: 2,
          now: NOW,
          latest: LATEST,
          ...minting,
        });
      };
      for (const end of [LATEST + 1, LATEST + 2, LATEST + 3]) await insert(end);
      const counted = { tenant_id: id, parent_id: parent.id };
      expect((await store().findApplications({ ...counted, latest: LATEST }, FIRST_PAGE, NOW)).total).toBe(0);
      expect((await store().findApplications({ ...counted, latest: LATEST + 2 }, FIRST_PAGE, NOW)).total).toBe(2);
      await expect(insert(NOW + 1, { key_hash: sealed('stolen', 32) })).rejects.toMatchObject({
        code: 'unauthenticated',
      });
      await insert(NOW + 2500);
      await insert(NOW + 9000);
      await expect(insert(NOW + 9000)).rejects.toMatchObject({ code: 'too_many_requests', retryAfter: 3 });
      await insert(NOW + 9000, { now: NOW + 2500 });
      await expect(insert(NOW + 9000, { now: NOW + 2500 })).rejects.toMatchObject({ code: 'too_many_requests' });
      const gone = applicationRecord(id, { type: 'expiring', parent_id: nextId() });
      const minting = { key_hash: parent.key_hash, most: 2, now: NOW, latest: LATEST };
      await expect(store().insertApplication(gone, ENTRY, minting)).rejects.toMatchObject({ code: 'unauthenticated' });
    });

    it('isolates tenants', async () => {
      const mine = await addTenant(store());
      const { id: other } = await addTenant(store());
      const { application } = mine;
      expect(await store().findApplication(other, application.id, NOW)).toBeUndefined();
      expect(await store().deleteApplication(other, application.id, 1, () => ENTRY)).toBe(false);
      expect(await store().replaceApplication({ ...application, tenant_id: other, revision: 2 }, 1, ENTRY)).toBe(false);
      expect(await store().findApplication(mine.id, application.id, NOW)).toEqual(application);
    });
  });
}
