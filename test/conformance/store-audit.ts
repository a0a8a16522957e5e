import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linkOf, NO_LINK } from '../../src/core/audit/audit-link.ts';
import type { AuditDraft, AuditEntry } from '../../src/core/audit/ports.ts';
import type { Store } from '../../src/core/ports.ts';
import {
  addApplication,
  addTenant,
  addToken,
  applicationRecord,
  auditRows,
  blind,
  countChanges,
  createdBy,
  ENTRY,
  endedNames,
  entry,
  FIRST_PAGE,
  indexes,
  keyRecord,
  NOW,
  nextId,
  type OpenStore,
  REMOVAL,
  removal,
  removalOf,
  sealed,
  sweep,
  tenantKeys,
  tenantRecord,
  tokenRecord,
  tombstoneOf,
  UNWRITABLE,
} from './store-fixtures.ts';

const ROOM = { most: 10, now: NOW };

/** Tests the audit of a store: each change has its entry, and a failed change has none. */
export function storeAudit(open: OpenStore): void {
  describe('the audit', () => {
    let opened: Awaited<ReturnType<OpenStore>>;
    let store: Store;
    beforeAll(async () => {
      opened = await open();
      store = opened.store;
    });
    afterAll(() => opened.dispose());

    /** Returns the entries that `work` wrote, in order. */
    async function written(work: () => Promise<unknown>): Promise<readonly AuditEntry[]> {
      const { sequence: before } = await store.auditHead();
      await work();
      return (await auditRows(store)).filter(({ sequence }) => sequence > before);
    }

    /** Appends entries. Returns the last sequence before them. */
    async function appended(...drafts: readonly AuditDraft[]): Promise<number> {
      const [{ sequence = 0 } = {}] = await written(() => store.appendAudit(drafts));
      return sequence - 1;
    }

    const one = (text: string) => [expect.objectContaining({ sealed: entry(text).sealed })];

    it('begins empty', async () => {
      const { sequence, at, link } = await store.auditHead();
      expect([sequence, at, new Uint8Array(link)]).toEqual([0, 0, NO_LINK]);
      expect(await store.readAudit(0, 10)).toEqual([]);
    });

    it('links the entries of each commit to the previous one', async () => {
      const added = await written(() =>
        Promise.all([store.appendAudit([entry('a'), entry('b')]), store.appendAudit([entry('c')])]),
      );
      // Two processes may run the calls in either order.
      const orders = ['abc', 'cab'].map((texts) => [...texts].map((text) => entry(text).sealed));
      expect(orders).toContainEqual(added.map(({ sealed }) => sealed));
      const rows = await store.readAudit(0, 100);
      const a = rows.findIndex(({ sealed }) => Buffer.compare(sealed, entry('a').sealed) === 0);
      expect(rows.map(({ link }) => link.length)).toEqual([0, 1, 2].map((at) => (at === a ? 0 : 16)));
      let previous = NO_LINK;
      let commit: AuditEntry[] = [];
      for (const [index, row] of rows.entries()) {
        expect(row).toMatchObject({ sequence: index + 1, at: NOW });
        commit.push(row);
        if (row.link.length === 0) continue;
        expect(Buffer.from(linkOf(previous, commit))).toEqual(Buffer.from(row.link));
        previous = row.link;
        commit = [];
      }
      expect(await store.auditHead()).toMatchObject({ sequence: 3, at: NOW, link: previous });
      expect(await store.readAudit(1, 1)).toEqual(rows.slice(1, 2));
      expect(await store.readAudit(3, 10)).toEqual([]);
    });

    it('refuses an entry whose writer knew a row that the audit lacks', async () => {
      const { sequence, link } = await store.auditHead();
      const refused = [
        { sequence: sequence + 1, link },
        { sequence, link: NO_LINK },
      ];
      for (const witness of refused) {
        const appended = store.appendAudit([{ ...entry('refused'), witness }]);
        await expect(appended).rejects.toMatchObject({
          code: expect.stringMatching(/^(integrity_failure|write_conflict)$/),
        });
      }
      expect(await written(() => store.appendAudit([{ ...entry('behind'), witness: { sequence, link } }]))).toEqual(
        one('behind'),
      );
    });

    it('extends the log index step by step, and finds entries by it', async () => {
      const drafts = [entry('1'), entry('2'), entry('3'), entry('4')];
      const sequence = await appended(...drafts);
      const end = await store.logIndexEnd();
      const row = (at: number, ...names: readonly string[]) => ({ sequence: sequence + at, blinds: names.map(blind) });
      const found = (before: number, limit: number, ...names: readonly string[]) =>
        store.findLogged(names.map(blind), sequence + before, limit).then((all) => all.map((one) => one - sequence));
      const before = await store.countLogIndex(sequence + 4);
      await store.indexLog([row(1, 'actor'), row(2, 'actor', 'read')], end, sequence + 2);
      expect(await store.logIndexEnd()).toBe(sequence + 2);
      // Another process indexed the same rows, or left a gap.
      await Promise.all([
        store.indexLog([row(2, 'actor', 'read'), row(3, 'actor')], end, sequence + 3),
        store.indexLog([row(1, 'actor')], end, sequence + 1),
      ]);
      expect(await store.logIndexEnd()).toBe(sequence + 3);
      await store.indexLog([row(9, 'gap')], sequence + 8, sequence + 9);
      expect(await store.logIndexEnd()).toBe(sequence + 3);
      expect(await found(99, 9, 'gap')).toEqual([]);

      expect(await found(9, 9, 'actor')).toEqual([3, 2, 1]);
      expect(await found(9, 2, 'actor')).toEqual([3, 2]);
      expect(await found(2, 9, 'actor')).toEqual([1]);
      expect(await found(9, 9, 'actor', 'read')).toEqual([3, 2, 1]);
      expect(await found(9, 9, 'never')).toEqual([]);
      expect(await store.findUnlogged([row(1, 'actor'), row(2, 'actor', 'other'), row(4)])).toEqual([sequence + 2]);
      expect((await store.countLogIndex(sequence + 4)) - before).toBe(4);
      expect((await store.countLogIndex(sequence + 1)) - before).toBe(1);
    });

    it('moves the base, and removes the rows before it and their rows in the log index', async () => {
      const drafts = ['1', '2', '3', '4'].map((text) => entry(text));
      const sequence = await appended(...drafts);
      const end = await store.logIndexEnd();
      const logged = [1, 3].map((at) => ({ sequence: sequence + at, blinds: [blind('pruned actor')] }));
      await store.indexLog(logged, end, sequence + 4);
      const kept = await store.readAudit(sequence + 2, 9);
      const head = await store.auditHead();
      const before = await store.countLogIndex(sequence + 4);

      const blinds = ['pruned actor', 'never'].map(blind);
      const [first, row] = await Promise.all([store.readAudit(-1, 1), store.readAudit(sequence + 1, 1)]);
      const base = { ...(row[0] as AuditEntry), sealed: sealed('base') };
      const other = { sequence: first[0]?.sequence ?? 0, link: sealed('link', 16) };
      expect(await store.moveBase(other, base, blinds)).toBe(false);
      expect(await store.moveBase({ ...other, sequence: sequence + 1 }, base, blinds)).toBe(false);
      expect(await store.readAudit(-1, 1)).toEqual(first);
      expect(await store.moveBase(first[0] as AuditEntry, base, blinds)).toBe(true);
      expect(await store.readAudit(-1, 9)).toEqual([base, ...kept]);
      expect(await store.readAudit(sequence, 1)).toEqual([base]);
      expect(await store.auditHead()).toEqual(head);
      expect(await store.findLogged([blind('pruned actor')], sequence + 9, 9)).toEqual([sequence + 3]);
      expect(await store.findUnlogged(logged)).toEqual([sequence + 1]);
      expect(await store.logIndexEnd()).toBe(sequence + 4);
      expect(await store.countLogIndex(sequence + 4)).toBe(before - 1);

      // A second call changes nothing, and the audit continues.
      expect(await store.moveBase(first[0] as AuditEntry, base, blinds)).toBe(false);
      // A process may add rows to the index that it has read before.
      await store.indexLog([{ sequence: sequence + 1, blinds: [blind('late')] }], sequence + 4, sequence + 4);
      expect(await store.findLogged([blind('late')], sequence + 9, 9)).toEqual([]);
      expect(await written(() => store.appendAudit([entry('5')]))).toEqual(one('5'));
    });

    it('has an entry for every change', async () => {
      const tenant = tenantRecord();
      const first = applicationRecord(tenant.id, { type: 'management' });
      const token = tokenRecord(tenant.id, { id: 'audited' });
      const plain = { deduplicate: false, now: NOW };
      const changes: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
        tenant: (name) =>
          store.insertTenant(tenant, tenantKeys(tenant.id), { application: first, key: keyRecord(first) }, entry(name)),
        'tenant replaced': (name) => store.replaceTenant({ ...tenant, revision: 2 }, 1, entry(name)),
        application: (name) => store.insertApplication(applicationRecord(tenant.id, createdBy(first)), entry(name)),
        'application replaced': (name) => store.replaceApplication({ ...first, revision: 2 }, 1, entry(name)),
        'API key': (name) => store.insertApplicationKey(keyRecord(first, { version: 2 }), ROOM, entry(name)),
        'API key deleted': (name) =>
          store.deleteApplicationKey(tenant.id, first.id, keyRecord(first, { version: 2 }).id, removalOf(name)),
        token: (name) => store.insertToken(token, indexes('f'), plain, entry(name)),
        'token replaced': (name) =>
          store.replaceToken({ ...token, revision: 2 }, indexes('f'), { revision: 1, now: NOW }, entry(name)),
        'token deleted': (name) => store.deleteToken(tombstoneOf(token), 2, entry(name)),
        'key added': (name) =>
          store.addTenantKey(
            tenant.id,
            { key_id: 3, purpose: 'index', generation: 1, wrapped: sealed('k'), created_at: NOW },
            entry(name),
          ),
        'key removed': (name) => store.removeTenantKey(tenant.id, 2, entry(name)),
        'application deleted': (name) => store.deleteApplication(tenant.id, first.id, 2, removalOf(name)),
        'tenant deleted': (name) => store.deleteTenant(tenant.id, entry(name)),
      };
      for (const [name, change] of Object.entries(changes)) {
        expect(await written(() => change(name)), name).toEqual(one(name));
      }
    });

    it('has no entry when nothing changed', async () => {
      const { id, application } = await addTenant(store);
      const token = await addToken(store, id, { id: 'kept' });
      const twin = tokenRecord(id, { id: 'twin' });
      const unchanged: Readonly<Record<string, () => Promise<unknown>>> = {
        'a stale token': () => store.replaceToken(token, indexes('f'), { revision: 7, now: NOW }, ENTRY),
        'an id that is taken': () =>
          store.insertToken(tokenRecord(id, { id: 'kept' }), indexes('g'), { deduplicate: false, now: NOW }, ENTRY),
        'several, of which one id is taken': () => {
          const tokens = ['new', 'kept'].map((name) => ({
            token: tokenRecord(id, { id: name }),
            indexes: indexes(name),
            deduplicate: false,
          }));
          return store.insertTokens(tokens, NOW, ENTRY);
        },
        'a duplicate': () => store.insertToken(twin, indexes('kept'), { deduplicate: true, now: NOW }, ENTRY),
        'a token that is gone': () => store.deleteToken(tombstoneOf(twin), 1, ENTRY),
        'a stale application': () => store.replaceApplication(application, 7, ENTRY),
        'an application that is gone': () => store.deleteApplication(id, nextId(), 1, REMOVAL),
        'an API key of another version': () => store.insertApplicationKey(keyRecord(application), ROOM, ENTRY),
        'an API key that is gone': () => store.deleteApplicationKey(id, application.id, nextId(), REMOVAL),
        'an API key that is used': () => store.markKeysUsed(id, [keyRecord(application).id], 20_600),
        'an API key that is sealed anew': () => store.resealApplicationKeys(id, [keyRecord(application)]),
        'a tenant that is gone': () => store.deleteTenant(nextId(), ENTRY),
        'a key in use': () => store.removeTenantKey(id, 1, ENTRY),
        'an application of no tenant': () =>
          store.insertApplication(applicationRecord(nextId()), ENTRY).catch(() => undefined),
        'a record that is sealed anew': () => store.replaceApplication(application, 1, undefined),
        'a token that is counted': () => store.markActive(id, ['kept'], token.active_month + 1),
      };
      for (const [name, change] of Object.entries(unchanged)) expect(await written(change), name).toEqual([]);
    });

    it('names the expiring applications that ended with their creator', async () => {
      const { id } = await addTenant(store);
      const parent = applicationRecord(id);
      const child = applicationRecord(id, { ...createdBy(parent), revision: 7 });
      await addApplication(store, parent);
      await addApplication(store, child);
      await store.replaceApplication({ ...parent, revision: 2 }, 1, ENTRY);
      const seen: ReturnType<typeof endedNames>[] = [];
      const seeing = removal((ended) => {
        seen.push(endedNames(ended));
        return ENTRY;
      });
      await store.deleteApplication(id, parent.id, 2, seeing);
      const keys = [parent, child].map((each) => `1 ${keyRecord(each).id}`);
      expect(seen).toEqual([{ applications: [`2 ${parent.id}`, `7 ${child.id}`], keys }]);
      const renewed = applicationRecord(id);
      const minted = applicationRecord(id, createdBy(renewed));
      for (const each of [renewed, minted]) await addApplication(store, each);
      const regenerate = (revision: number) => () => {
        const key = keyRecord(renewed, { version: revision + 1 });
        const ended = removal((removed) => entry(`ended ${endedNames(removed).applications}`));
        return store.replaceApplication({ ...renewed, revision: revision + 1 }, revision, entry('renewed'), {
          key,
          removal: ended,
        });
      };
      const entries = await written(regenerate(1));
      expect(entries).toHaveLength(2);
      expect(entries).toEqual(expect.arrayContaining([...one(`ended 1 ${minted.id}`), ...one('renewed')]));
      expect(await written(regenerate(2))).toEqual(expect.arrayContaining([...one('ended '), ...one('renewed')]));
    });

    it('has an entry for each expired record, written with its removal', async () => {
      const { id } = await addTenant(store);
      await addToken(store, id, { id: 'gone', expires_at: NOW + 1 });
      const parent = applicationRecord(id, { expires_at: NOW + 2 });
      const child = applicationRecord(id, { ...createdBy(parent), expires_at: NOW + 3, revision: 7 });
      await addApplication(store, parent);
      await addApplication(store, child);
      const ended = removal((removed) => entry(`removed ${endedNames(removed).applications}`));
      const entries = await written(() => sweep(store, NOW + 10, 1000, ended));
      expect(entries).toHaveLength(2);
      const expected = [...one('expired gone'), ...one(`removed 1 ${parent.id},7 ${child.id}`)];
      expect(entries).toEqual(expect.arrayContaining(expected));
      const [tombstone] = await store.inspectRows('tombstone', id, '', 10);
      const { deleted_by: _, ...left } = tombstoneOf(tokenRecord(id, { id: 'gone' }), { deleted_at: NOW + 10 });
      expect(tombstone).toMatchObject({ id: 'gone', record: left });
      expect(await store.inspectRows('tombstone', id, 'gone', 10)).toEqual([]);
      expect((await store.findApplications({ tenant_id: id }, FIRST_PAGE, NOW)).total).toBe(1);
    });

    it('has no entry of a transaction that fails', async () => {
      const { id } = await addTenant(store);
      const inserted = store.insertToken(
        tokenRecord(id, { id: 'lost' }),
        indexes('f'),
        { deduplicate: false, now: NOW },
        UNWRITABLE,
      );
      // The write may fail before the head is read.
      const failed = expect(inserted).rejects.toThrow();
      const before = await countChanges(store);
      await failed;
      expect(await countChanges(store)).toBe(before);
      expect(await store.findToken(id, 'lost', NOW)).toBeUndefined();
    });
  });
}
