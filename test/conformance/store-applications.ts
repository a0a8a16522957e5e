import { describe, expect, it } from 'vitest';
import type { ApplicationKeyRecord, EndedApplications } from '../../src/core/application-ports.ts';
import type { ApplicationRecord, Store } from '../../src/core/ports.ts';
import {
  addApplication,
  addTenant,
  addToken,
  applicationRecord,
  createdBy,
  ENTRY,
  endedNames,
  FIRST_PAGE,
  keyRecord,
  NOW,
  nextId,
  REMOVAL,
  removal,
  sealed,
  sweep,
} from './store-fixtures.ts';

const ROOM = { most: 10, now: NOW };

export function storeApplications(store: () => Store): void {
  describe('applications', () => {
    it('returns an inserted application by id and by key', async () => {
      const { id, tenant, keys } = await addTenant(store());
      const parent = applicationRecord(id);
      await addApplication(store(), parent);
      const made = applicationRecord(id, {
        ...createdBy(parent),
        created_by: parent.id,
        modified_by: nextId(),
        modified_at: NOW + 1,
        expires_at: NOW + 60_000,
      });
      const key = keyRecord(made, { created_by: parent.id, expires_at: NOW + 50_000 });
      await store().insertApplication(made, ENTRY, { key });
      const application = { ...made, key_version: 1 };
      expect(await store().findApplication(id, application.id, NOW)).toEqual(application);
      expect(await store().findApplication(id, parent.id, NOW)).toEqual({ ...parent, key_version: 1 });
      expect(await store().findAuthority(key.hash, NOW)).toEqual({ application, key, tenant, keys });
      expect(await store().findAuthority(key.hash, NOW + 50_000)).toBeUndefined();
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
      await sweep(store(), NOW + 5000);
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
      await sweep(store(), NOW - 100);
      expect(await store().nextExpiry(NOW - 300)).not.toBe(NOW - 200);
    });

    it('hides an expired application at once and removes it in the sweep', async () => {
      const { id } = await addTenant(store());
      const application = applicationRecord(id, { type: 'expiring', expires_at: NOW + 100 });
      await addApplication(store(), application);
      const seen = async (now: number) => [
        (await store().findApplication(id, application.id, now)) !== undefined,
        (await store().findAuthority(keyRecord(application).hash, now)) !== undefined,
        (await store().findApplications({ tenant_id: id, ids: [application.id] }, FIRST_PAGE, now)).total === 1,
      ];
      expect(await seen(NOW + 99)).toEqual([true, true, true]);
      expect(await seen(NOW + 100)).toEqual([false, false, false]);
      expect(await sweep(store(), NOW + 99)).toBe(0);
      expect(await sweep(store(), NOW + 100)).toBe(1);
      expect(await seen(NOW)).toEqual([false, false, false]);
    });

    it('replaces an application at the expected revision only, and all its keys by a new one', async () => {
      const { id } = await addTenant(store());
      const application = applicationRecord(id);
      await addApplication(store(), application);
      const keys = [1, 2, 3].map((version) => keyRecord(application, { version }));
      const [first, second, third] = keys as [ApplicationKeyRecord, ApplicationKeyRecord, ApplicationKeyRecord];
      expect(await store().insertApplicationKey(second, ROOM, ENTRY)).toBe(true);
      const next = { ...application, revision: 2, modified_at: NOW + 1 };
      const regenerated = { key: third, removal: REMOVAL };
      const live = async () =>
        (await Promise.all(keys.map(({ hash }) => store().findAuthority(hash, NOW)))).map(Boolean);
      expect(await store().replaceApplication(next, 7, ENTRY, regenerated)).toBe(false);
      // Another key was made meanwhile.
      const late = { ...regenerated, key: keyRecord(application, { version: 2, id: nextId() }) };
      expect(await store().replaceApplication(next, 1, ENTRY, late)).toBe(false);
      expect(await live()).toEqual([true, true, false]);
      expect(await store().findApplication(id, application.id, NOW)).toEqual({ ...application, key_version: 2 });
      expect(await store().replaceApplication(next, 1, ENTRY, regenerated)).toBe(true);
      expect(await live()).toEqual([false, false, true]);
      const replaced = { ...next, key_version: 3 };
      expect(await store().findAuthority(third.hash, NOW)).toMatchObject({ application: replaced, key: third });
      expect(await store().replaceApplication(applicationRecord(id), 1, ENTRY)).toBe(false);
      expect(await store().findApplicationKeys(id, application.id, NOW)).toEqual([third]);
      expect(first.version).toBe(1);
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
      await addApplication(store(), parent);
      await addApplication(store(), stranger);
      const child = (of: ApplicationRecord) => applicationRecord(id, { ...createdBy(of), expires_at: NOW + 9 });
      const children = [child(parent), child(parent), child(stranger)];
      for (const each of children) await addApplication(store(), each);
      const token = await addToken(store(), id);

      expect(await store().deleteApplication(id, parent.id, 2, REMOVAL)).toBe(false);
      expect(await store().deleteApplication(id, parent.id, 1, REMOVAL)).toBe(true);
      expect(await store().deleteApplication(id, parent.id, 1, REMOVAL)).toBe(false);
      const left = await Promise.all(children.map((each) => store().findAuthority(keyRecord(each).hash, NOW)));
      expect(left.map((authority) => authority !== undefined)).toEqual([false, false, true]);
      expect(await store().findToken(id, token.id, NOW)).toEqual(token);
      // The deleted application cannot be the parent of a new one either.
      await expect(store().insertApplication(child(parent), ENTRY)).rejects.toMatchObject({
        code: 'unauthenticated',
      });
    });

    it('ends the expiring applications of a replaced key in the same change', async () => {
      const { id } = await addTenant(store());
      const parent = applicationRecord(id);
      const stranger = applicationRecord(id);
      for (const each of [parent, stranger]) await addApplication(store(), each);
      const child = (of: ApplicationRecord) => applicationRecord(id, { ...createdBy(of), expires_at: NOW + 9 });
      const [first, other] = [child(parent), child(stranger)];
      const second = { ...child(parent), revision: 7 };
      for (const each of [first, second, other]) await addApplication(store(), each);
      const count = async (parent_id: string, now = NOW) =>
        (await store().findApplications({ tenant_id: id, parent_id }, { offset: 0, limit: 0 }, now)).total;
      expect([await count(parent.id), await count(stranger.id), await count(other.id)]).toEqual([2, 1, 0]);
      expect(await count(parent.id, NOW + 9)).toBe(0);

      const seen: ReturnType<typeof endedNames>[] = [];
      const ended = removal((removed) => {
        seen.push(endedNames(removed));
        return ENTRY;
      });
      const next = { ...parent, revision: 2 };
      const key = (version: number) => ({ key: keyRecord(parent, { version }), removal: ended });
      expect(await store().replaceApplication(next, 1, ENTRY)).toBe(true);
      expect(await store().replaceApplication(next, 1, ENTRY, key(2))).toBe(false);
      expect(await count(parent.id)).toBe(2);
      expect(await store().replaceApplication({ ...next, revision: 3 }, 2, ENTRY, key(2))).toBe(true);
      expect(await store().replaceApplication({ ...next, revision: 4 }, 3, ENTRY, key(3))).toBe(true);
      const named = (of: ApplicationRecord, keyVersion = 1) => `1 ${keyRecord(of, { version: keyVersion }).id}`;
      const sorted = seen.map(({ applications, keys }) => [applications.toSorted(), keys.toSorted()]);
      expect(sorted).toEqual([
        [[`1 ${first.id}`, `7 ${second.id}`], [named(parent), named(first), named(second)].toSorted()],
        [[], [named(parent, 2)]],
      ]);
      const authorities = [first, second, other].map((each) => store().findAuthority(keyRecord(each).hash, NOW));
      const left = await Promise.all(authorities);
      expect(left.map((authority) => authority?.application.id)).toEqual([undefined, undefined, other.id]);
    });

    it('inserts an expiring application only for the key of its creator, and up to a number of live ones', async () => {
      const LATEST = NOW + 10_000;
      const { id } = await addTenant(store());
      const parent = applicationRecord(id);
      await addApplication(store(), parent);
      const insert = (expires_at: number, parts: object = {}, minting: object = {}) => {
        const child = applicationRecord(id, { ...createdBy(parent), expires_at, ...parts });
        return addApplication(store(), child, { most: 2, now: NOW, latest: LATEST, ...minting });
      };
      for (const end of [LATEST + 1, LATEST + 2, LATEST + 3]) await insert(end);
      const counted = { tenant_id: id, parent_id: parent.id };
      expect((await store().findApplications({ ...counted, latest: LATEST }, FIRST_PAGE, NOW)).total).toBe(0);
      expect((await store().findApplications({ ...counted, latest: LATEST + 2 }, FIRST_PAGE, NOW)).total).toBe(2);
      await expect(insert(NOW + 1, { parent_key_id: nextId() })).rejects.toMatchObject({
        code: 'unauthenticated',
      });
      await insert(NOW + 2500);
      await insert(NOW + 9000);
      await expect(insert(NOW + 9000)).rejects.toMatchObject({ code: 'too_many_requests', retryAfter: 3 });
      await insert(NOW + 9000, {}, { now: NOW + 2500 });
      await expect(insert(NOW + 9000, {}, { now: NOW + 2500 })).rejects.toMatchObject({ code: 'too_many_requests' });
      const gone = { parent_id: nextId() };
      await expect(insert(NOW + 1, gone)).rejects.toMatchObject({ code: 'unauthenticated' });
      const keyless = { parent_key_id: undefined };
      await expect(insert(NOW + 1, keyless)).rejects.toMatchObject({ code: 'unauthenticated' });
    });

    it('makes as many keys as the limit, each with the next version, and lists them newest first', async () => {
      const { id, application, key: first } = await addTenant(store());
      const key = (version: number, parts: object = {}) => keyRecord(application, { version, ...parts });
      const insert = (record: ApplicationKeyRecord, now = NOW) =>
        store().insertApplicationKey(record, { most: 3, now }, ENTRY);
      const brief = key(2, { expires_at: NOW + 5 });
      for (const version of [1, 3]) expect(await insert(key(version, { id: nextId() }))).toBe(false);
      expect(await insert(brief)).toBe(true);
      expect(await insert(key(3))).toBe(true);
      await expect(insert(key(4))).rejects.toMatchObject({ code: 'too_many_keys' });
      const live = async (now: number) => store().findApplicationKeys(id, application.id, now);
      expect(await live(NOW + 4)).toEqual([key(3), brief, first]);
      expect(await live(NOW + 5)).toEqual([key(3), first]);
      expect(await insert(key(4), NOW + 5)).toBe(true);
      expect(await insert({ ...key(1), application_id: nextId(), id: nextId() })).toBe(false);
      await expect(insert({ ...key(5), key_id: 9 }, NOW)).rejects.toBeDefined();
      expect(await store().findApplicationKeys(id, nextId(), NOW)).toEqual([]);
      expect(await store().findApplicationKeys(nextId(), application.id, NOW)).toEqual([]);
      expect(await store().findApplicationKeys(id, 'no uuid', NOW)).toEqual([]);
    });

    it('removes a key with the expiring applications that it created, and no others', async () => {
      const { id, application, key: first } = await addTenant(store());
      const second = keyRecord(application, { version: 2 });
      await store().insertApplicationKey(second, ROOM, ENTRY);
      const child = (parts: object) => applicationRecord(id, { ...createdBy(application), ...parts });
      const [ofFirst, ofSecond] = [child({}), child({ parent_key_id: second.id })];
      for (const each of [ofFirst, ofSecond]) await addApplication(store(), each);
      const seen: ReturnType<typeof endedNames>[] = [];
      const remove = (key: string, of = application.id, tenant = id) =>
        store().deleteApplicationKey(
          tenant,
          of,
          key,
          removal((ended) => {
            seen.push(endedNames(ended));
            return ENTRY;
          }),
        );
      for (const wrong of [
        remove(nextId()),
        remove(second.id, ofFirst.id),
        remove(second.id, application.id, nextId()),
      ]) {
        expect(await wrong).toBe(false);
      }
      expect(await remove(second.id)).toBe(true);
      expect(await remove(second.id)).toBe(false);
      const keys = [`1 ${second.id}`, `1 ${keyRecord(ofSecond).id}`];
      expect(seen).toEqual([{ applications: [`1 ${ofSecond.id}`], keys }]);
      const hashes = [first, second, keyRecord(ofFirst), keyRecord(ofSecond)].map(({ hash }) => hash);
      const found = await Promise.all(hashes.map((hash) => store().findAuthority(hash, NOW)));
      expect(found.map((authority) => authority !== undefined)).toEqual([true, false, true, false]);
    });

    it('leaves keys and children that are not genuine', async () => {
      const { id, application } = await addTenant(store());
      const child = applicationRecord(id, createdBy(application));
      await addApplication(store(), child);
      const foreign = keyRecord(application, { version: 2 });
      await store().insertApplicationKey(foreign, ROOM, ENTRY);
      const strange = new Set([child.id, foreign.id]);
      const ended: ReturnType<typeof endedNames>[] = [];
      const careful = {
        isGenuine: (record: { readonly id: string }) => !strange.has(record.id),
        entry(removed: EndedApplications) {
          ended.push(endedNames(removed));
          return ENTRY;
        },
      };
      expect(await store().deleteApplication(id, application.id, 1, careful)).toBe(true);
      expect(ended).toEqual([{ applications: [`1 ${application.id}`], keys: [`1 ${keyRecord(application).id}`] }]);
      expect(await store().findApplicationKeys(id, application.id, NOW)).toEqual([foreign]);
      expect(await store().findAuthority(keyRecord(child).hash, NOW)).toMatchObject({ application: { id: child.id } });
      // Other tests inspect the whole store.
      expect(await store().deleteTenant(id, ENTRY)).toBe(true);
    });

    it('removes expired keys and what they created in the sweep', async () => {
      const { id, application, key: first } = await addTenant(store());
      const brief = keyRecord(application, { version: 2, expires_at: NOW + 150 });
      await store().insertApplicationKey(brief, ROOM, ENTRY);
      const child = applicationRecord(id, { ...createdBy(application), parent_key_id: brief.id });
      await addApplication(store(), child);
      // Other tests leave expired records.
      await sweep(store(), NOW + 149);
      expect(await store().nextExpiry(NOW + 149)).toBe(NOW + 150);
      expect(await store().latestExpiry(NOW + 150)).toBe(NOW + 150);
      const seen: string[] = [];
      const ended = removal((removed) => {
        seen.push(...endedNames(removed).applications, ...endedNames(removed).keys);
        return ENTRY;
      });
      expect(await sweep(store(), NOW + 149, 1000, ended)).toBe(0);
      expect(await sweep(store(), NOW + 150, 1000, ended)).toBe(1);
      const keys = [`1 ${brief.id}`, `1 ${keyRecord(child).id}`];
      expect(seen).toEqual([`1 ${child.id}`, ...keys]);
      expect(await store().findApplicationKeys(id, application.id, NOW)).toEqual([first]);
      expect(await store().findAuthority(keyRecord(child).hash, NOW)).toBeUndefined();
    });

    it('keeps the last day on which a key was used', async () => {
      const { id, application, key } = await addTenant(store());
      const used = async () => (await store().findApplicationKeys(id, application.id, NOW))[0]?.last_used_day;
      for (const [day, expected] of [
        [20_600, 20_600],
        [20_599, 20_600],
        [20_601, 20_601],
      ] as const) {
        await store().markKeysUsed(id, [key.id, nextId()], day);
        expect(await used()).toBe(expected);
      }
      await store().markKeysUsed(nextId(), [key.id], 20_602);
      expect(await used()).toBe(20_601);
    });

    it('isolates tenants', async () => {
      const mine = await addTenant(store());
      const { id: other } = await addTenant(store());
      const { application } = mine;
      expect(await store().findApplication(other, application.id, NOW)).toBeUndefined();
      expect(await store().deleteApplication(other, application.id, 1, REMOVAL)).toBe(false);
      expect(await store().replaceApplication({ ...application, tenant_id: other, revision: 2 }, 1, ENTRY)).toBe(false);
      expect(await store().findApplication(mine.id, application.id, NOW)).toEqual(application);
    });
  });
}
