import { describe, expect, it } from 'vitest';
import { REPLY_LIFE_MS } from '../../src/contract/limits.ts';
import type { Store } from '../../src/core/ports.ts';
import type { StoredReply } from '../../src/core/reply-ports.ts';
import {
  addTenant,
  applicationRecord,
  countChanges,
  ENTRY,
  EXPIRY_RECORDER,
  entry,
  indexes,
  NOW,
  nextId,
  sealed,
  type TestEntry,
  tokenRecord,
  tombstoneOf,
} from './store-fixtures.ts';

/** Tests stored replies: they are stored with their change and emptied with their records. */
export function storeReplies(store: () => Store): void {
  describe('stored replies', () => {
    const NEW = { deduplicate: false, now: NOW };

    function replyOf(tenant_id: string, parts: Partial<StoredReply> = {}): StoredReply {
      const key = nextId();
      const [key_hash, request_hash] = [sealed(`key ${key}`, 32), sealed(`request ${key}`, 32)];
      const own = { tenant_id, application_id: nextId(), key_hash, request_hash, created_at: NOW };
      return { ...own, sealed: sealed(`reply ${key}`, 2_000), ...parts };
    }

    const with_ = (reply: StoredReply, ...subjects: readonly string[]): TestEntry => ({
      ...entry('replied', ...subjects),
      reply,
    });
    const find = ({ tenant_id, application_id, key_hash }: StoredReply, now = NOW) =>
      store().findReply(tenant_id, application_id, key_hash, now);
    const emptied = (reply: StoredReply) => ({ ...reply, sealed: new Uint8Array() });

    async function addKeyed(tenantId: string, parts: Partial<StoredReply> = {}, id = nextId()) {
      const reply = replyOf(tenantId, parts);
      const token = tokenRecord(tenantId, { id });
      await store().insertToken(token, indexes(id), NEW, with_(reply, id));
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

    it('are emptied when a token that they show is deleted or expires; others are not', async () => {
      const { id } = await addTenant(store());
      const { reply, token } = await addKeyed(id);
      const { reply: other } = await addKeyed(id);
      const patched = replyOf(id);
      const expected = { revision: 1, now: NOW };
      await store().replaceToken({ ...token, revision: 2 }, indexes('x'), expected, with_(patched, token.id));
      expect(await find(reply)).toEqual(reply);
      await store().deleteToken(tombstoneOf(token), 2, entry('gone', token.id));
      expect(await find(reply)).toEqual(emptied(reply));
      expect(await find(patched)).toEqual(emptied(patched));
      expect(await find(other)).toEqual(other);

      const short = replyOf(id);
      const record = tokenRecord(id, { expires_at: NOW + 1 });
      await store().insertToken(record, indexes('y'), NEW, with_(short, record.id));
      await store().removeExpired(NOW + 1, 10_000, {
        ...EXPIRY_RECORDER,
        recordExpiry: (expired, at) => ({
          ...EXPIRY_RECORDER.recordExpiry(expired, at),
          audit: entry('expired', expired.id),
        }),
      });
      expect(await find(short)).toEqual(emptied(short));
    });

    it('are deleted with their application, and emptied when they show it', async () => {
      const { id } = await addTenant(store());
      const made = applicationRecord(id);
      const shows = replyOf(id);
      await store().insertApplication(made, with_(shows, made.id));
      const { reply: own } = await addKeyed(id, { application_id: made.id });
      await store().deleteApplication(id, made.id, 1, () => entry('gone', made.id));
      expect(await find(own)).toBeUndefined();
      expect(await find(shows)).toEqual(emptied(shows));
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
