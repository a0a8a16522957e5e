import { describe, expect, it } from 'vitest';
import type { FileStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { RemovedToken } from '../../src/store/sqlite/tables/tenant-rows.ts';
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
    it('removes all tokens of a tenant with replaced keys, and frees their ids', async () => {
      const { store, dispose } = await open();
      const [one, two] = [await addTenant(store), await addTenant(store)];
      const token = await addToken(store, one.id);
      const expired = await addToken(store, one.id, { expires_at: NOW - 1 });
      const kept = await addToken(store, two.id);
      const changes = await countChanges(store);
      const told: string[] = [];
      const entries = {
        tokensRemoved(tokens: Iterable<RemovedToken>) {
          told.push(...[...tokens].map(({ table, id, revision }) => `${table} ${id} ${revision}`));
          return ENTRY;
        },
        keyRemoved(keyId: number) {
          told.push(`key ${keyId}`);
          return ENTRY;
        },
      };
      expect(await store.removeAllTokens(nextId(), [1], entries)).toBe(0);
      expect(told).toEqual([]);
      // The key 1 still seals the application.
      expect(await store.removeAllTokens(one.id, [1], entries)).toBe(2);
      expect(told.toSorted()).toEqual([`token ${expired.id} 1`, `token ${token.id} 1`].toSorted());
      expect(await countChanges(store)).toBe(changes + 1);
      expect(await idsOf(store, everything(one.id))).toEqual([]);
      expect(await idsOf(store, everything(two.id))).toEqual([kept.id]);
      expect(await store.usage(one.id, token.active_month, NOW)).toEqual({ types: [], active: 0 });
      expect(await store.findApplication(one.id, one.application.id, NOW)).toBeDefined();
      expect(await store.insertToken(token, indexes('f'), NEW, ENTRY)).toEqual({ outcome: 'inserted' });
      expect(await store.inspect()).toEqual([]);
      await dispose();
    });

    it('keeps the stored replies when it removes all tokens', async () => {
      const { store, dispose } = await open();
      const { id, application } = await addTenant(store);
      const key = [sealed('key', 32), sealed('request', 32)] as const;
      const reply = {
        tenant_id: id,
        application_id: application.id,
        key_hash: key[0],
        request_hash: key[1],
        created_at: NOW,
        key_id: 1,
        sealed: sealed('reply'),
      };
      await store.insertToken(tokenRecord(id), indexes('f'), NEW, { ...entry('replied'), reply });
      await store.removeAllTokens(id, [], { tokensRemoved: () => ENTRY, keyRemoved: () => ENTRY });
      expect(await store.findReply(id, application.id, key[0], NOW)).toEqual(reply);
      await dispose();
    });
  });
}
