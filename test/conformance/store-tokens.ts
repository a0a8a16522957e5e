import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Store, TokenCondition, TokenRecord } from '../../src/core/ports.ts';
import {
  addTenant,
  addToken,
  blind,
  countChanges,
  ENTRY,
  everything,
  FIRST_PAGE,
  idsOf,
  indexes,
  MONTH,
  NOW,
  nextId,
  presentedOf,
  sealed,
  sweep,
  tokenRecord,
  tombstoneOf,
} from './store-fixtures.ts';

export function storeTokens(store: () => Store): void {
  const insert = (token: TokenRecord, fingerprint: string, deduplicate = false, now = NOW) =>
    store().insertToken(token, indexes(fingerprint), { deduplicate, now }, ENTRY);

  // Sweep first: a sweep concerns all tenants and would count tokens of other tests.
  const sweepAll = () => sweep(store(), NOW + 1_000_000, 10_000);

  describe('tokens', () => {
    it('returns an inserted token', async () => {
      const { id } = await addTenant(store());
      const full = tokenRecord(id, { expires_at: NOW + 10, type: 'card' });
      const bare = tokenRecord(id, { id: 'žluťoučký 😀' });
      for (const token of [full, bare]) {
        expect(await insert(token, token.id)).toEqual({ outcome: 'inserted' });
        expect(await store().findToken(id, token.id, NOW)).toEqual(token);
        expect(await store().findPresentedToken(id, token.id, NOW)).toEqual(presentedOf(token));
      }
      for (const absent of ['nothing', `${bare.id} `, bare.id.toUpperCase(), 'žluťoučký \ud83d', 'a\0', '']) {
        expect(await store().findToken(id, absent, NOW)).toBeUndefined();
        expect(await store().findPresentedToken(id, absent, NOW)).toBeUndefined();
      }
      const { id: other } = await addTenant(store());
      for (const tenant of [other, nextId(), 'no id']) {
        expect(await store().findPresentedToken(tenant, full.id, NOW)).toBeUndefined();
      }
      expect(await store().findPresentedToken(id, full.id, NOW + 10)).toBeUndefined();
    });

    it('accepts an id once per tenant, whether its token lives, is expired or is a tombstone', async () => {
      const { id } = await addTenant(store());
      const { id: other } = await addTenant(store());
      await sweepAll();
      const token = await addToken(store(), id, { id: 'taken', expires_at: NOW + 10 });
      const again = tokenRecord(id, { id: 'taken' });
      expect(await insert(again, 'x')).toEqual({ outcome: 'id_taken' });
      expect(await insert(again, 'x', false, NOW + 20)).toEqual({ outcome: 'id_taken' });
      expect(await store().deleteToken(tombstoneOf(token), 1, ENTRY)).toBe(true);
      expect(await insert(again, 'x')).toEqual({ outcome: 'id_taken' });
      const swept = await addToken(store(), id, { id: 'swept', expires_at: NOW + 10 });
      expect(await sweep(store(), NOW + 10)).toBe(1);
      expect(await insert(tokenRecord(id, { id: swept.id }), 'x')).toEqual({ outcome: 'id_taken' });
      expect(await insert(tokenRecord(other, { id: 'taken' }), 'x')).toEqual({ outcome: 'inserted' });
    });

    it('inserts none of several tokens when one has a duplicate, stored or among them', async () => {
      const { id } = await addTenant(store());
      const stored = await addToken(store(), id, { id: 'stored' });
      const member = (name: string, fingerprint: string, deduplicate = true) => {
        return { token: tokenRecord(id, { id: name }), indexes: indexes(fingerprint), deduplicate };
      };
      const first = member('first', 'new');
      const former = {
        ...member('second', 'x'),
        indexes: { ...indexes('x'), former: [indexes('stored').fingerprint] },
      };
      const members = [
        first,
        member('stored', 'other'),
        former,
        member('third', 'new'),
        member('fourth', 'new', false),
      ];
      const changes = await countChanges(store());
      expect(await store().insertTokens(members, NOW, ENTRY)).toEqual([
        { at: 1, duplicate: undefined },
        { at: 2, duplicate: stored },
        { at: 3, duplicate: first.token },
      ]);
      expect(await idsOf(store(), everything(id))).toEqual(['stored']);
      expect(await countChanges(store())).toBe(changes);
      expect(await store().insertTokens([first, member('fourth', 'new', false)], NOW, ENTRY)).toEqual([]);
    });

    it('inserts several tokens, or none when an id is taken', async () => {
      const { id } = await addTenant(store());
      const { id: other } = await addTenant(store());
      const dead = await addToken(store(), id, { id: 'dead' });
      await store().deleteToken(tombstoneOf(dead), 1, ENTRY);
      await addToken(store(), id, { id: 'taken' });
      const member = (tenant: string, parts: Partial<TokenRecord>) => {
        const token = tokenRecord(tenant, parts);
        return { token, indexes: indexes(token.id, `by ${token.id}`), deduplicate: false };
      };
      const before = await store().usage(id, MONTH, NOW);
      const refused = ['taken', 'dead', 'new'];
      for (const last of refused) {
        const members = ['new', 'a', 'b', last].map((name) => member(id, { id: name }));
        const changes = await countChanges(store());
        expect(await store().insertTokens(members, NOW, ENTRY), last).toEqual([{ at: 3, duplicate: undefined }]);
        expect(await countChanges(store())).toBe(changes);
        expect(await idsOf(store(), everything(id))).toEqual(['taken']);
      }
      const stale = member(id, { id: 'stale', key_id: 7 });
      const gone = member(nextId(), { id: 'gone' });
      for (const [last, code] of [[stale, 'write_conflict'] as const, [gone, 'unauthenticated'] as const]) {
        const inserting = store().insertTokens([member(id, { id: 'new' }), last], NOW, ENTRY);
        await expect(inserting).rejects.toMatchObject({ code });
        expect(await idsOf(store(), everything(id))).toEqual(['taken']);
      }
      expect(await store().usage(id, MONTH, NOW)).toEqual(before);

      const added = [
        member(id, { id: 'x', created_at: NOW - 1 }),
        member(id, { id: 'y', type: 'card', active_month: MONTH - 1 }),
        member(other, { id: 'x' }),
        member(id, { id: 'z', created_at: NOW - 2 }),
        member(id, { id: 'newer', type: 'bank', created_at: NOW - 3 }),
        member(id, { id: 'older', type: 'bank', created_at: NOW - 4 }),
      ];
      const changes = await countChanges(store());
      expect(await store().insertTokens(added, NOW, ENTRY)).toEqual([]);
      expect(await countChanges(store())).toBe(changes + 1);
      for (const { token } of added) expect(await store().findToken(token.tenant_id, token.id, NOW)).toEqual(token);
      expect(await idsOf(store(), { tenant_id: id, all: [{ index_in: [blind('by z')] }] })).toEqual(['z']);
      const { types, active } = await store().usage(id, MONTH, NOW);
      expect(types.map(({ type, count }) => [type, count])).toEqual(
        expect.arrayContaining([
          ['token', 3],
          ['card', 1],
        ]),
      );
      expect(types.find(({ type }) => type === 'bank')).toEqual({ type: 'bank', count: 2, last_created_at: NOW - 3 });
      // The deleted token stays counted.
      expect(active).toBe(6);
    });

    it('gives an id to one of many concurrent creates', async () => {
      const { id } = await addTenant(store());
      const asked = Array.from({ length: 8 }, () => insert(tokenRecord(id, { id: 'race' }), 'x'));
      const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'id_taken')).toHaveLength(7);
    });

    it('finds the oldest live duplicate of the tenant by its fingerprint', async () => {
      const { id } = await addTenant(store());
      const { id: other } = await addTenant(store());
      const at = (created_at: number, parts: Partial<TokenRecord> = {}) => tokenRecord(id, { created_at, ...parts });
      const oldest = at(NOW - 10);
      const expiring = at(NOW - 20, { expires_at: NOW + 5 });
      for (const token of [at(NOW - 1), at(NOW - 10), oldest, expiring]) await insert(token, 'same');
      const twins = [oldest.id, (await idsOf(store(), everything(id)))[1] ?? ''].sort();

      const ask = (tenant: string, now: number, fingerprint = 'same') =>
        insert(tokenRecord(tenant), fingerprint, true, now);
      expect(await ask(id, NOW)).toEqual({ outcome: 'duplicate', token: expiring });
      expect(await ask(id, NOW + 5)).toMatchObject({ outcome: 'duplicate', token: { id: twins[0] } });
      expect((await store().findTokens(everything(id), FIRST_PAGE, NOW)).total).toBe(4);
      expect(await ask(other, NOW)).toEqual({ outcome: 'inserted' });
      expect(await ask(id, NOW, 'unlike')).toEqual({ outcome: 'inserted' });
      // A duplicate stores nothing, so its taken id does not matter.
      expect(await insert(tokenRecord(id, { id: oldest.id }), 'same', true)).toMatchObject({ outcome: 'duplicate' });
    });

    it('stores one of many equal tokens that are deduplicated concurrently', async () => {
      const { id } = await addTenant(store());
      const asked = Array.from({ length: 8 }, () => insert(tokenRecord(id), 'one', true));
      const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1);
      expect((await store().findTokens(everything(id), FIRST_PAGE, NOW)).total).toBe(1);
    });

    it('finds a duplicate other than the token itself', async () => {
      const { id } = await addTenant(store());
      const first = tokenRecord(id, { created_at: NOW - 2 });
      const second = tokenRecord(id, { created_at: NOW - 1, expires_at: NOW + 5 });
      for (const token of [second, first]) await insert(token, 'pair');
      const find = (except: string, now = NOW, tenant = id) =>
        store().findDuplicate(tenant, blind('fingerprint pair'), except, now);
      expect(await find('')).toEqual(first);
      expect(await find(first.id)).toEqual(second);
      expect(await find(first.id, NOW + 5)).toBeUndefined();
      expect(await find('', NOW, (await addTenant(store())).id)).toBeUndefined();
      await store().deleteToken(tombstoneOf(first), 1, ENTRY);
      expect(await find(second.id)).toBeUndefined();
    });

    it('replaces a live token with its indexes, at the expected revision', async () => {
      const { id } = await addTenant(store());
      const token = await addToken(store(), id, { expires_at: NOW + 50 }, ['kept', 'dropped']);
      const next = { ...token, revision: 2, clear: sealed('changed'), full: sealed('new'), expires_at: NOW + 90 };
      const change = (record: TokenRecord, revision: number, now = NOW) =>
        store().replaceToken(record, indexes('other', 'kept', 'added'), { revision, now }, ENTRY);
      const by = (text: string) => idsOf(store(), { tenant_id: id, all: [{ index_in: [blind(text)] }] });

      expect(await change(next, 2)).toBe(false);
      expect(await change(next, 1, NOW + 50)).toBe(false);
      expect(await change(tokenRecord(id), 1)).toBe(false);
      expect(await store().findToken(id, token.id, NOW)).toEqual(token);
      expect(await change(next, 1)).toBe(true);
      expect(await store().findToken(id, token.id, NOW + 60)).toEqual(next);
      expect([await by('kept'), await by('added'), await by('dropped')]).toEqual([[token.id], [token.id], []]);
      expect(await store().findDuplicate(id, blind(`fingerprint ${token.id}`), '', NOW)).toBeUndefined();
      expect(await store().findDuplicate(id, blind('fingerprint other'), '', NOW)).toEqual(next);
      expect(await change({ ...next, revision: 2 }, 1)).toBe(false);
    });

    it('keeps the counted month when an older copy of a record replaces it', async () => {
      const { id } = await addTenant(store());
      const token = await addToken(store(), id);
      await store().markActive(id, [token.id], MONTH + 1);
      await store().replaceToken({ ...token, revision: 2 }, indexes('x'), { revision: 1, now: NOW }, ENTRY);
      await store().markActive(id, [token.id], MONTH + 1);
      expect((await store().findToken(id, token.id, NOW))?.active_month).toBe(MONTH + 1);
      expect((await store().usage(id, MONTH + 1, NOW)).active).toBe(1);
    });

    it('deletes a token with its indexes, at the expected revision', async () => {
      const { id } = await addTenant(store());
      const token = await addToken(store(), id, {}, ['x']);
      expect(await store().deleteToken(tombstoneOf(token), 2, ENTRY)).toBe(false);
      expect(await store().deleteToken(tombstoneOf(token), 1, ENTRY)).toBe(true);
      expect(await store().deleteToken(tombstoneOf(token), 1, ENTRY)).toBe(false);
      expect(await store().findToken(id, token.id, NOW)).toBeUndefined();
      expect(await idsOf(store(), { tenant_id: id, all: [{ index_in: [blind('x')] }] })).toEqual([]);
      expect(
        await store().replaceToken({ ...token, revision: 2 }, indexes('x'), { revision: 1, now: NOW }, ENTRY),
      ).toBe(false);
    });

    it('hides an expired token at once and sweeps in the requested batches', async () => {
      const { id } = await addTenant(store());
      await sweepAll();
      const left = await addToken(store(), id, { created_at: NOW - 1 });
      for (let ends = 1; ends <= 5; ends += 1) await addToken(store(), id, { expires_at: NOW + ends, type: 'bank' });
      const total = async (now: number) => (await store().findTokens(everything(id), FIRST_PAGE, now)).total;
      expect([await total(NOW), await total(NOW + 1), await total(NOW + 5)]).toEqual([6, 5, 1]);
      expect(await idsOf(store(), everything(id), NOW + 5)).toEqual([left.id]);
      const counted = (now: number) => store().usage(id, MONTH, now);
      expect((await counted(NOW + 2)).types.find(({ type }) => type === 'bank')?.count).toBe(3);
      const sweeps = [2, 2, 2].map((limit) => () => sweep(store(), NOW + 5, limit));
      const removed: number[] = [];
      for (const sweep of sweeps) removed.push(await sweep());
      expect(removed).toEqual([2, 2, 1]);
      expect(await total(NOW)).toBe(1);
      expect((await counted(NOW)).types.find(({ type }) => type === 'bank')?.count).toBe(0);
    });

    it('finds expired tokens, the earliest first, without the skipped ones', async () => {
      const { id } = await addTenant(store());
      await sweepAll();
      const tokens: TokenRecord[] = [];
      for (let at = 1; at <= 5; at += 1) tokens.push(await addToken(store(), id, { expires_at: NOW + at }));
      const skipped = new Set<number>();
      const batch = async () => {
        const found = await store().findExpired('token', NOW + 4, 2, skipped);
        for (const { row } of found) skipped.add(row);
        return found.map(({ record }) => record);
      };
      expect([await batch(), await batch(), await batch()]).toEqual([tokens.slice(0, 2), tokens.slice(2, 4), []]);
    });

    it('isolates tenants', async () => {
      const { id } = await addTenant(store());
      const { id: other } = await addTenant(store());
      const token = await addToken(store(), id, {}, ['shared']);
      const elsewhere = { ...token, tenant_id: other };
      expect(await store().findToken(other, token.id, NOW)).toBeUndefined();
      expect(
        await store().replaceToken({ ...elsewhere, revision: 2 }, indexes('x'), { revision: 1, now: NOW }, ENTRY),
      ).toBe(false);
      expect(await store().deleteToken(tombstoneOf(elsewhere), 1, ENTRY)).toBe(false);
      await store().markActive(other, [token.id], MONTH + 1);
      expect(await store().usage(other, MONTH + 1, NOW)).toEqual({ types: [], active: 0 });
      const filters: TokenCondition[][] = [
        [],
        [{ id_in: [token.id] }],
        [{ id_prefix: '' }],
        [{ index_in: [blind('shared')] }],
      ];
      filters.push([{ index_in: [blind('shared'), blind('more')] }], [{ type_in: ['token'] }]);
      for (const all of filters) {
        const found = await store().findTokens({ tenant_id: other, all }, FIRST_PAGE, NOW);
        expect(found).toEqual({ records: [], total: 0 });
      }
      expect(await store().findToken(id, token.id, NOW)).toEqual(token);
    });
  });

  describe('usage', () => {
    it('counts an active token once a month, even when it is deleted', async () => {
      const { id } = await addTenant(store());
      const a = await addToken(store(), id);
      const b = await addToken(store(), id, { active_month: MONTH - 1 });
      const active = async (month: number) => (await store().usage(id, month, NOW)).active;
      expect([await active(MONTH - 1), await active(MONTH)]).toEqual([1, 1]);
      await store().markActive(id, [a.id, b.id, 'gone', b.id], MONTH);
      await store().markActive(id, [b.id], MONTH - 1);
      expect([await active(MONTH - 1), await active(MONTH), await active(MONTH + 1)]).toEqual([1, 2, 0]);
      await store().deleteToken(tombstoneOf(a), 1, ENTRY);
      expect(await active(MONTH)).toBe(2);
    });

    it('equals a recount after any sequence of operations', async () => {
      const types = ['token', 'card', 'bank'] as const;
      const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.tuple(fc.constant('insert' as const), id, fc.nat(6)) },
        fc.tuple(fc.constant('delete' as const), id, fc.constant(0)),
        fc.tuple(fc.constant('replace' as const), id, fc.nat(6)),
        fc.tuple(fc.constant('mark' as const), id, fc.nat(2)),
        fc.tuple(fc.constant('wait' as const), id, fc.nat(2)),
        fc.tuple(fc.constant('sweep' as const), id, fc.nat(2)),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const { id: tenant } = await addTenant(store());
          const held = new Map<string, TokenRecord>();
          const used = new Set<string>();
          const last = new Map<string, number>();
          const active = new Map<number, number>();
          let now = NOW;
          const alive = (token: TokenRecord) => token.expires_at === undefined || token.expires_at > now;
          for (const [kind, name, n] of steps) {
            const token = held.get(name);
            const expires_at = n > 0 && n < 4 ? now + n : undefined;
            if (kind === 'insert') {
              const made = tokenRecord(tenant, {
                id: name,
                type: types[n % 3] ?? 'token',
                created_at: now,
                expires_at,
              });
              const { outcome } = await insert(made, name, false, now);
              expect(outcome).toBe(used.has(name) ? 'id_taken' : 'inserted');
              if (outcome !== 'inserted') continue;
              used.add(name);
              held.set(name, made);
              last.set(made.type, now);
              active.set(MONTH, (active.get(MONTH) ?? 0) + 1);
            } else if (kind === 'delete' && token !== undefined) {
              expect(await store().deleteToken(tombstoneOf(token), token.revision, ENTRY)).toBe(true);
              held.delete(name);
            } else if (kind === 'replace' && token !== undefined) {
              const next = { ...token, expires_at, revision: token.revision + 1 };
              expect(await store().replaceToken(next, indexes(name), { revision: token.revision, now }, ENTRY)).toBe(
                alive(token),
              );
              if (alive(token)) held.set(name, next);
            } else if (kind === 'mark') {
              await store().markActive(tenant, [name], MONTH + n);
              if (token === undefined || token.active_month >= MONTH + n) continue;
              held.set(name, { ...token, active_month: MONTH + n });
              active.set(MONTH + n, (active.get(MONTH + n) ?? 0) + 1);
            } else if (kind === 'wait') {
              now += n;
            } else if (kind === 'sweep') {
              await sweep(store(), now);
              for (const [key, each] of held) if (!alive(each)) held.delete(key);
            }
          }
          const living = [...held.values()].filter(alive);
          const usage = await store().usage(tenant, MONTH, now);
          const recount = types
            .filter((type) => last.has(type))
            .map((type) => ({
              type,
              count: living.filter((token) => token.type === type).length,
              last_created_at: last.get(type),
            }));
          expect([...usage.types].sort((a, b) => a.type.localeCompare(b.type))).toEqual(
            recount.sort((a, b) => a.type.localeCompare(b.type)),
          );
          for (const month of [MONTH, MONTH + 1, MONTH + 2]) {
            expect((await store().usage(tenant, month, now)).active).toBe(active.get(month) ?? 0);
          }
          expect((await store().findTokens(everything(tenant), FIRST_PAGE, now)).total).toBe(living.length);
          for (const token of living) expect(await store().findToken(tenant, token.id, now)).toEqual(token);
        }),
        { numRuns: 40 },
      );
    });
  });
}
