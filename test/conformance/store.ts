import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { storeApplications } from './store-applications.ts';
import { storeAudit } from './store-audit.ts';
import { storeFilters } from './store-filters.ts';
import { addTenant, addToken, ENTRY, everything, idsOf, NOW, type OpenStore } from './store-fixtures.ts';
import { storeMaintenance } from './store-key-holder.ts';
import { storeReplies } from './store-replies.ts';
import { storeTenants } from './store-tenants.ts';
import { storeTokens } from './store-tokens.ts';

// Compare bytes by value, since a database may return a Buffer.
expect.addEqualityTesters([
  (a, b) => (a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : undefined),
]);

/** Runs the tests that every store must pass. */
export function storeConformance(name: string, open: OpenStore): void {
  describe(`store conformance: ${name}`, () => {
    let opened: Awaited<ReturnType<OpenStore>>;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.dispose());
    const store = () => opened.store;

    storeTenants(store);
    storeApplications(store);
    storeTokens(store);
    storeFilters(store);
    storeReplies(store);
    storeMaintenance(open);
    storeAudit(open);
    storeEnd(open);
  });
}

function storeEnd(open: OpenStore): void {
  describe('the end', () => {
    const used = (store: Store) => [
      () => store.followAudit(1, 1),
      () => store.ping(),
      () => store.listTenantIds(),
      () => store.findTokens(everything('x'), { offset: 0, limit: 1 }, NOW),
      () => store.markActive('x', [], 1),
      () => store.deleteTenant('x', ENTRY),
      () => store.header(),
      () => store.countStale('x', { key_id: 1, index_key_id: 2 }),
      () => store.removeTenantKey('x', 1, ENTRY),
      () => store.revisionsOf('token', 'x', '', 1),
      () => store.inspect(),
      () => store.appendAudit([ENTRY]),
      () => store.readAudit(0, 1),
      () => store.auditHead(),
      () => store.inspectRows('tombstone', 'x', '', 1),
    ];

    it('completes earlier calls on close and rejects later ones', async () => {
      const { store, reopen, dispose } = await open();
      const { id } = await addTenant(store);
      const inserted = addToken(store, id, { id: 'last one' });
      await store.close();
      await expect(inserted).resolves.toMatchObject({ id: 'last one' });
      for (const call of used(store)) await expect(call()).rejects.toMatchObject({ code: 'vault_stopping' });
      await expect(store.close()).resolves.toBeUndefined();
      const again = await reopen();
      expect(await idsOf(again, everything(id))).toEqual(['last one']);
      await again.close();
      await dispose();
    });
  });
}
