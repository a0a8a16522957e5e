import { describe, expect, it } from 'vitest';
import { REPLY_LIFE_MS } from '../../src/contract/limits.ts';
import type { Store } from '../../src/core/ports.ts';
import type { StoredReply } from '../../src/core/reply-ports.ts';
import {
  addTenant,
  applicationRecord,
  countChanges,
  ENTRY,
  entry,
  indexes,
  NOW,
  nextId,
  removalOf,
  sealed,
  type TestEntry,
  tokenRecord,
  tombstoneOf,
} from './store-fixtures.ts';

/** Tests stored replies: they are stored with their change, sealed again and removed. */
export function storeReplies(store: () => Store): void {
  describe('stored replies', () => {
    const NEW = { deduplicate: false, now: NOW };

    function replyOf(tenant_id: string, parts: Partial<StoredReply> = {}): StoredReply {
      const key = nextId();
      const [key_hash, request_hash] = [sealed(`key ${key}`, 32), sealed(`request ${key}`, 32)];
      const own = { tenant_id, application_id: nextId(), key_hash, request_hash, created_at: NOW, key_id: 1 };
      return { ...own, sealed: sealed(`reply ${key}`), ...parts };
    }

    const with_ = (reply: StoredReply): TestEntry => ({ ...entry('replied'), reply });
    const find = ({ tenant_id, application_id, key_hash }: StoredReply, now = NOW) =>
      store().findReply(tenant_id, application_id, key_hash, now);

    async function addKeyed(tenantId: string, parts: Partial<StoredReply> = {}, id = nextId()) {
      const reply = replyOf(tenantId, parts);
      const token = tokenRecord(tenantId, { id });
      await store().insertToken(token, indexes(id), NEW, with_(reply));
      return { reply, token };
    }

    it('are found by tenant, application and key, for 24 hours', async () => {
      const { id } = await addTenant(store());
      const { reply } = await addKeyed(id);
      expect(await find(reply)).toEqual(reply);
      expect(await find(reply, NOW + REPLY_LIFE_MS - 1)).toEqual(reply);
      expect(await find(reply, NOW - 1)).toEqual(reply);
      expect(await find(reply, NOW + REPLY_LIFE_MS)).toBeUndefined();
      const other = await addTenant(store());
      expect(await find({ ...reply, tenant_id: other.id })).toBeUndefined();
      expect(await find({ ...reply, application_id: nextId() })).toBeUndefined();
      expect(await find({ ...reply, key_hash: sealed('other', 32) })).toBeUndefined();
    });

    it('are not stored without their change', async () => {
      const { id } = await addTenant(store());
      const { token } = await addKeyed(id);
      const reply = replyOf(id);
      expect(await store().insertToken(token, indexes(token.id), NEW, with_(reply))).toEqual({ outcome: 'id_taken' });
      const again = [{ token, indexes: indexes('x'), deduplicate: false }];
      expect(await store().insertTokens(again, NOW, with_(reply))).toHaveLength(1);
      const expected = { revision: 9, now: NOW };
      expect(await store().replaceToken(token, indexes('x'), expected, with_(reply))).toBe(false);
      expect(await find(reply)).toBeUndefined();
    });

    it('reject a change whose idempotency key is taken', async () => {
      const { id, tenant, application } = await addTenant(store());
      const { reply, token } = await addKeyed(id);
      const taken = with_({ ...replyOf(id), application_id: reply.application_id, key_hash: reply.key_hash });
      const second = tokenRecord(id);
      const made = applicationRecord(id);
      const next = { revision: 2 };
      const changes = await countChanges(store());
      const writes = [
        () => store().insertToken(second, indexes('x'), NEW, taken),
        // The first call created this token, but the taken key decides, not the taken id.
        () => store().insertToken(token, indexes('x'), NEW, taken),
        () => store().insertTokens([{ token, indexes: indexes('x'), deduplicate: false }], NOW, taken),
        () => store().replaceToken({ ...token, ...next }, indexes('x'), { revision: 1, now: NOW }, taken),
        () => store().insertApplication(made, taken),
        () => store().replaceApplication({ ...application, ...next }, 1, taken),
        () => store().replaceTenant({ ...tenant, ...next }, 1, taken),
      ];
      for (const write of writes) await expect(write()).rejects.toMatchObject({ code: 'write_conflict' });
      expect(await find(reply)).toEqual(reply);
      expect(await store().findToken(id, second.id, NOW)).toBeUndefined();
      expect(await store().findToken(id, token.id, NOW)).toMatchObject({ revision: 1 });
      expect(await store().findApplication(id, made.id, NOW)).toBeUndefined();
      expect((await store().findTenant(id))?.tenant.revision).toBe(1);
      expect(await countChanges(store())).toBe(changes);
    });

    it('free their key after 24 hours', async () => {
      const { id } = await addTenant(store());
      const { reply } = await addKeyed(id);
      const { application_id, key_hash } = reply;
      const later = await addKeyed(id, { application_id, key_hash, created_at: NOW + REPLY_LIFE_MS });
      expect(await find(reply, NOW + REPLY_LIFE_MS)).toEqual(later.reply);
    });

    it('stay when their records change or are removed', async () => {
      const { id } = await addTenant(store());
      const { reply, token } = await addKeyed(id);
      const patched = replyOf(id);
      const expected = { revision: 1, now: NOW };
      await store().replaceToken({ ...token, revision: 2 }, indexes('x'), expected, with_(patched));
      await store().deleteToken(tombstoneOf(token), 2, entry('gone'));
      const made = applicationRecord(id);
      const shows = replyOf(id);
      await store().insertApplication(made, with_(shows));
      await store().deleteApplication(id, made.id, 1, removalOf('gone'));
      for (const one of [reply, patched, shows]) expect(await find(one)).toEqual(one);
    });

    it('are deleted with the application that called', async () => {
      const { id } = await addTenant(store());
      const made = applicationRecord(id);
      await store().insertApplication(made, ENTRY);
      const { reply } = await addKeyed(id, { application_id: made.id });
      await store().deleteApplication(id, made.id, 1, removalOf('gone'));
      expect(await find(reply)).toBeUndefined();
    });

    it('are counted under older data keys and replaced if they are still the same', async () => {
      const { id } = await addTenant(store());
      const { reply: a } = await addKeyed(id);
      const { reply: b } = await addKeyed(id);
      const other = await addTenant(store());
      await addKeyed(other.id);
      const newest = { key_id: 3, index_key_id: 2 };
      const key = { key_id: 3, purpose: 'data', generation: 1, wrapped: sealed('newer'), created_at: NOW } as const;
      expect(await store().addTenantKey(id, key, ENTRY)).toBe(true);
      // Two replies, the token of each under the same key, the tenant's record, its application and its API key.
      expect(await store().countStale(id, newest)).toBe(7);
      const resealed = (before: StoredReply) => ({ before, after: { ...before, key_id: 3, sealed: sealed('again') } });
      expect(await store().resealReplies(other.id, [resealed(a)])).toBe(0);
      expect(await store().resealReplies(id, [resealed(a), resealed(replyOf(id))])).toBe(1);
      expect(await store().resealReplies(id, [resealed(a)])).toBe(0);
      expect(await find(a)).toEqual(resealed(a).after);
      expect(await find(b)).toEqual(b);
    });

    it('are not stored under a data key that is no longer the newest', async () => {
      const { id, tenant } = await addTenant(store());
      const key = { key_id: 3, purpose: 'data', generation: 1, wrapped: sealed('newer'), created_at: NOW } as const;
      await store().addTenantKey(id, key, ENTRY);
      const reply = replyOf(id);
      const next = { ...tenant, revision: 2, key_id: 3 };
      await expect(store().replaceTenant(next, 1, with_(reply))).rejects.toMatchObject({ code: 'write_conflict' });
      expect((await store().findTenant(id))?.tenant.revision).toBe(1);
      expect(await store().replaceTenant(next, 1, with_({ ...reply, key_id: 3 }))).toBe(true);
    });

    it('keep the data key that seals them', async () => {
      const { id, tenant, application, key: own } = await addTenant(store());
      const reply = replyOf(id);
      await store().replaceTenant({ ...tenant, revision: 2 }, 1, with_(reply));
      const key = { key_id: 3, purpose: 'data', generation: 1, wrapped: sealed('newer'), created_at: NOW } as const;
      await store().addTenantKey(id, key, ENTRY);
      await store().replaceTenant({ ...tenant, revision: 2, key_id: 3 }, 2, undefined);
      await store().replaceApplication({ ...application, key_id: 3 }, 1, undefined);
      await store().resealApplicationKeys(id, [{ ...own, key_id: 3 }]);
      expect(await store().removeTenantKey(id, 1, ENTRY)).toBe(false);
      await store().resealReplies(id, [{ before: reply, after: { ...reply, key_id: 3 } }]);
      expect(await store().removeTenantKey(id, 1, ENTRY)).toBe(true);
    });

    it('are deleted with their tenant', async () => {
      const { id } = await addTenant(store());
      const { reply } = await addKeyed(id);
      await store().deleteTenant(id, ENTRY);
      expect(await find(reply)).toBeUndefined();
    });

    it('are removed in batches after 24 hours', async () => {
      const { id } = await addTenant(store());
      const old = NOW - 10 * REPLY_LIFE_MS;
      await store().removeOldReplies(NOW, 10_000);
      for (const age of [0, 1, 2]) await addKeyed(id, { created_at: old - age });
      const { reply: kept } = await addKeyed(id);
      expect(await store().removeOldReplies(NOW, 2)).toBe(2);
      expect(await store().removeOldReplies(NOW, 2)).toBe(1);
      expect(await find(kept)).toEqual(kept);
    });

    it('are inspected in order, page by page', async () => {
      const { id } = await addTenant(store());
      const all = [await addKeyed(id), await addKeyed(id), await addKeyed(id)].map(({ reply }) => reply);
      const first = await store().inspectRows('reply', id, '', 2);
      const rest = await store().inspectRows('reply', id, first.at(-1)?.id ?? '', 2);
      expect([...first, ...rest].map(({ record }) => record)).toEqual(all);
      expect(await store().inspectRows('reply', id, rest.at(-1)?.id ?? '', 2)).toEqual([]);
    });
  });
}
