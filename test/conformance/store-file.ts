import { describe, expect, it } from 'vitest';
import type { FileStore } from '../../src/core/maintenance-ports.ts';
import {
  addTenant,
  addToken,
  countChanges,
  ENTRY,
  entry,
  everything,
  idsOf,
  indexes,
  NOW,
  nextId,
  type OpenedStore,
  sealed,
  tokenRecord,
} from './store-fixtures.ts';

const NEW = { deduplicate: true, now: NOW };

/** Tests what only a store in a file can do. */
export function fileStoreConformance(
  name: string,
  open: () => Promise<OpenedStore & { readonly store: FileStore }>,
): void {
  describe(`store conformance of files: ${name}`, () => {
    it('removes all tokens of the named tenants and frees their ids', async () => {
      const { store, dispose } = await open();
      const [one, two] = [await addTenant(store), await addTenant(store)];
      const token = await addToken(store, one.id);
      await addToken(store, one.id, { expires_at: NOW - 1 });
      const kept = await addToken(store, two.id);
      const changes = await countChanges(store);
      const told: string[] = [];
      const removed = await store.removeAllTokens([one.id, nextId()], (id) => {
        told.push(id);
        return ENTRY;
      });
      expect([removed, told]).toEqual([2, [one.id]]);
      expect(await countChanges(store)).toBe(changes + 1);
      expect(await idsOf(store, everything(one.id))).toEqual([]);
      expect(await idsOf(store, everything(two.id))).toEqual([kept.id]);
      expect(await store.usage(one.id, token.active_month, NOW)).toEqual({ types: [], active: 0 });
      expect(await store.findApplication(one.id, one.application.id, NOW)).toBeDefined();
      expect(await store.insertToken(token, indexes('f'), NEW, ENTRY)).toEqual({ outcome: 'inserted' });
      expect(await store.inspect()).toEqual([]);
      await dispose();
    });

    it('empties the stored replies when it removes all tokens', async () => {
      const { store, dispose } = await open();
      const { id, application } = await addTenant(store);
      const key = [sealed('key', 32), sealed('request', 32)] as const;
      const reply = {
        tenant_id: id,
        application_id: application.id,
        key_hash: key[0],
        request_hash: key[1],
        created_at: NOW,
        sealed: sealed('reply', 2_000),
      };
      await store.insertToken(tokenRecord(id), indexes('f'), NEW, { ...entry('replied'), reply });
      await store.removeAllTokens([id], () => ENTRY);
      expect(await store.findReply(id, application.id, key[0], NOW)).toEqual({ ...reply, sealed: new Uint8Array() });
      await dispose();
    });
  });
}
